# The roles that hold keys, in one image: the aggregator (`deniable serve`), and the processing node of split mode (`deniable spool drain`).
# Both open reports, so both need the keys, the store and the estimators. Pinned by hash, no root, nothing to write but /var/lib/deniable.
#   docker build --file deploy/aggregator.Dockerfile --tag deniable-aggregator .
FROM python:3.13-slim-bookworm AS build
WORKDIR /source
COPY deploy/aggregator-requirements.txt deploy/aggregator-requirements.txt
RUN python -m venv /opt/deniable \
    && /opt/deniable/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r deploy/aggregator-requirements.txt
COPY LICENSE LICENSE
COPY shared shared
COPY aggregator aggregator
RUN /opt/deniable/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps ./shared ./aggregator/central ./aggregator/estimators ./aggregator/gateway ./aggregator/service

FROM python:3.13-slim-bookworm
COPY --from=build /opt/deniable /opt/deniable
RUN useradd --system --uid 10001 --home-dir /var/lib/deniable --create-home deniable \
    && install -d -o 10001 -m 700 /var/spool/deniable
ENV PATH=/opt/deniable/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    DENIABLE_DATA=/var/lib/deniable/data \
    DENIABLE_HOST=0.0.0.0
USER 10001
WORKDIR /var/lib/deniable
VOLUME /var/lib/deniable
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["deniable"]
CMD ["serve"]
