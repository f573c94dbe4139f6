package rule

// foreign recognises files that others wrote for other programs. It returns what the file looks like
// and what to do about it, or nothing.
func foreign(root *node) (what, fix string) {
	if root.kind != mappingNode {
		return "", ""
	}
	descriptors := root.get("descriptors")
	switch {
	case descriptors != nil && descriptors.kind == listNode:
		for _, d := range descriptors.items {
			if d.get("resources") != nil {
				return "looks like a rule file of Sentinel's Envoy rate limit server (domain, descriptors with resources), which this version does not support",
					"write gateway flow rules"
			}
		}
		return "looks like an envoyproxy/ratelimit configuration (domain, descriptors), which this version does not support", "write gateway flow rules"
	case len(root.having("apiVersion", "kind", "metadata")) == 3:
		return "looks like a Kubernetes manifest", "give the rule file itself: of a ConfigMap, what stands under one key of data"
	case root.get("static_resources") != nil || root.get("dynamic_resources") != nil:
		return "looks like an Envoy configuration", "give a rule file"
	case root.get("spring") != nil:
		return "looks like the configuration of a Spring application", "give the rules themselves: the file or the text that its data sources name"
	case len(root.having("data")) == 1 && len(root.having("code", "success", "msg")) > 0:
		return "looks like a reply of Sentinel's dashboard", "keep only the list under data"
	}
	return "", ""
}
