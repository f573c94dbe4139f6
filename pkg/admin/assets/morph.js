// morph makes one element like another one by changing only what differs, so that focus, selection, scrolling and what
// a reader has opened stay as they are. Children with a data-key are found again wherever they moved.
export function morph(from, to) {
  for (const { name, value } of to.attributes) {
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && name !== "open") from.removeAttribute(name); // a reader opens details
  }
  const keyed = new Map();
  for (const child of from.children) {
    if (child.dataset.key !== undefined) keyed.set(child.dataset.key, child);
  }
  let place = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    const key = keyOf(wanted);
    let found = key === undefined ? place : keyed.get(key);
    if (!found || found.nodeName !== wanted.nodeName || keyOf(found) !== key) {
      from.insertBefore(document.importNode(wanted, true), place);
      continue;
    }
    if (found === place) place = place.nextSibling;
    else from.insertBefore(found, place);
    if (found.nodeType === Node.ELEMENT_NODE) morph(found, wanted);
    else if (found.nodeValue !== wanted.nodeValue) found.nodeValue = wanted.nodeValue;
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.dataset.key : undefined;
}
