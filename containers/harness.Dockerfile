# The harness in an image: the kvdyno command, its Python environment from the lock, LaTeX with fonts for papers.
#
# `kvdyno images harness` makes the context: the harness's own files, and host/ (containers/host-config), of
# which nothing stays: the last stage is one layer, copied when apt's configuration is the base image's again.
ARG BASE_IMAGE=debian:bookworm-slim

FROM ${BASE_IMAGE} AS full
ENV DEBIAN_FRONTEND=noninteractive
RUN cp -a /etc/apt /apt-of-the-base
COPY host/ /
RUN apt-get update -qq \
 && apt-get install -qq --no-install-recommends git python3 python3-venv \
      latexmk poppler-utils texlive-fonts-recommended texlive-latex-recommended >/dev/null
COPY harness/requirements.in harness/requirements.lock /wanted/
# All that the lock has is checked against its hashes; then only what the harness needs of it is installed.
RUN python3 -m venv /opt/kvdyno && python3 -m venv /scratch \
 && /scratch/bin/pip download -q --require-hashes -r /wanted/requirements.lock -d /wheels \
 && /scratch/bin/pip --python /opt/kvdyno/bin/python install -q --no-index --find-links /wheels \
      -r /wanted/requirements.in
COPY . /source/
RUN /scratch/bin/pip --python /opt/kvdyno/bin/python install -q --no-index --find-links /wheels --no-deps /source \
 && rm -rf /source /scratch /wheels /wanted /root/.cache /tmp/* /var/tmp/* /var/cache/apt/* /var/lib/apt/lists/* \
      /var/log/* /etc/apt /etc/pip.conf /etc/kvdyno-host \
 && mv /apt-of-the-base /etc/apt

FROM scratch
COPY --from=full / /
ENV PATH=/opt/kvdyno/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ENTRYPOINT ["kvdyno"]
