# Colophon's worker and starter, as static programs.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags=-s -o /out/worker ./worker
RUN CGO_ENABLED=0 go build -trimpath -ldflags=-s -o /out/starter ./starter
RUN mkdir -p /out/state

FROM alpine:3.21.3
COPY --from=build /out/worker /out/starter /usr/local/bin/
COPY --from=build --chown=65532:65532 /out/state /var/lib/colophon
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/worker"]
CMD ["--config", "/etc/colophon/colophon.yaml"]
