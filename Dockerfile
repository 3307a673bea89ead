# The gateway in production. Build: docker build -t tool-gateway .  Run: docs/deploy.md.

FROM python:3.13-slim AS packages
COPY requirements/base.txt /requirements.txt
RUN python -m venv /venv \
    && /venv/bin/pip install --quiet --disable-pip-version-check --no-cache-dir --require-hashes --no-deps \
        --only-binary :all: -r /requirements.txt

FROM python:3.13-slim
# Outgoing calls verify certificates against the system's certificate authorities.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin gateway \
    && install --directory --owner gateway --mode 700 /spool

ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    MALLOC_ARENA_MAX=2 \
    GATEWAY_ENV=production \
    GATEWAY_SPOOL_FOLDER=/spool \
    PORT=8000 \
    GATEWAY_WORKERS=2 \
    GATEWAY_THREADS=4

WORKDIR /app
COPY --from=packages /venv /venv
COPY . .
# Collect the admin's static files with hashed names. The values are placeholders for this step only, not secrets.
RUN SECRET_KEY=a-value-for-this-step-alone-that-is-as-long-as-a-secret-must-be \
    GATEWAY_KEY_PEPPER=another-value-for-this-step-alone-as-long-as-a-secret-must-be \
    ALLOWED_HOSTS=build DATABASE_URL=sqlite://:memory: \
    python manage.py collectstatic --noinput --verbosity 0

USER gateway
EXPOSE 8000

# The request uses a host name from ALLOWED_HOSTS, because any other is refused.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; host = os.environ['ALLOWED_HOSTS'].split(',')[0].strip().lstrip('.').replace('*', 'localhost'); r.urlopen(r.Request('http://127.0.0.1:' + os.environ['PORT'] + '/healthz', headers={'Host': host}), timeout=4)"]

# exec lets signals reach the server. Running calls have 25 seconds when it is stopped. Only this command sets the
# metrics folder: other commands in the image (migrate, createsuperuser) count nothing.
CMD ["sh", "-c", "export PROMETHEUS_MULTIPROC_DIR=\"${PROMETHEUS_MULTIPROC_DIR:-/tmp/metrics}\" && rm -rf \"$PROMETHEUS_MULTIPROC_DIR\" && exec python -m config.serve --host 0.0.0.0 --port \"$PORT\""]
