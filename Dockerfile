# The app in one process, for a CPU:  docker build -t ncd .
# For NVIDIA GPUs of this CUDA:       docker build -t ncd --build-arg TORCH=cu130 .
FROM python:3.13-slim

RUN apt-get update \
    && apt-get install -y --no-install-recommends graphviz \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --shell /usr/sbin/nologin ncd

# torch is the one that is built for TORCH, a folder of PyTorch's index; all else is PyPI's.
ARG TORCH=cpu
WORKDIR /build
COPY requirements.txt constraints.txt ./
RUN pip install --no-cache-dir -c constraints.txt -r requirements.txt \
    --extra-index-url "https://download.pytorch.org/whl/$TORCH"

COPY . .
RUN pip install --no-cache-dir --no-deps . && rm -rf /build

USER ncd
WORKDIR /home/ncd
ENV PORT=8501
EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s CMD ["python", "-c", \
    "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/healthz')"]
CMD ["sh", "-c", "exec ncd serve --host 0.0.0.0 --port $PORT"]
