# The roles that face the internet, in one image: the relay (`relay`), and the ingest node of split mode (`intake`). No key, no numpy, pinned by hash, no root, nothing to write but /var/lib/deniable.
#   docker build --file deploy/gateway.Dockerfile --tag deniable-gateway .
FROM python:3.13-slim-bookworm AS build
WORKDIR /source
COPY deploy/gateway-requirements.txt deploy/gateway-requirements.txt
RUN python -m venv /opt/deniable \
    && /opt/deniable/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r deploy/gateway-requirements.txt
COPY LICENSE LICENSE
COPY shared shared
COPY aggregator/gateway aggregator/gateway
RUN /opt/deniable/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps ./shared ./aggregator/gateway

FROM python:3.13-slim-bookworm
COPY --from=build /opt/deniable /opt/deniable
RUN useradd --system --uid 10001 --home-dir /var/lib/deniable --create-home deniable \
    && install -d -o 10001 -m 700 /var/spool/deniable
ENV PATH=/opt/deniable/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /var/lib/deniable
VOLUME /var/lib/deniable
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["deniable-gateway"]
