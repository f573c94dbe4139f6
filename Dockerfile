# A static binary in an image without a shell: 65532 is its nonroot user.
ARG GO=1.26
ARG BASE=gcr.io/distroless/static-debian12:nonroot

FROM golang:${GO} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api api
COPY cmd cmd
COPY internal internal
COPY pkg pkg
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /sidecard ./cmd/sidecard

FROM ${BASE}
COPY --from=build /sidecard /sidecard
USER 65532:65532
# Asks the default socket; a container that listens elsewhere sets SIDECARD_LISTEN for both.
HEALTHCHECK --interval=5s --timeout=2s --start-period=5s CMD ["/sidecard", "healthcheck"]
ENTRYPOINT ["/sidecard"]
CMD ["serve"]
