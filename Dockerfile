# The service. From the root of the repository, with BuildKit:
#   docker build -t content-gateway .
# With `--target sandbox`, an image that serves the sandbox. deploy/README.md says how to run them.
ARG NODE_IMAGE=node:26-trixie-slim
# The same for the machine that builds, where that is of another platform.
ARG BUILD_IMAGE=${NODE_IMAGE}

FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
WORKDIR /gateway
COPY package.json package-lock.json .npmrc ./
COPY deploy/ci/install deploy/ci/
# The secret is for those whose packages come from a registry of their own: --secret id=npmrc,src=$HOME/.npmrc
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=cache,target=/root/.npm \
  deploy/ci/install packages
COPY . .
# The commit: there is no .git here.
ARG REVISION=unknown
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=cache,target=/root/.npm \
  BUILD_ID=${REVISION} deploy/ci/install compiled && deploy/image/release /release

# Nothing runs in here, so that it is built for other platforms, too.
FROM --platform=$TARGETPLATFORM ${NODE_IMAGE} AS gateway
# Nothing but /data has to be writable.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 METRICS_HOST=0.0.0.0 DATABASE_URL=sqlite:/data/content.db
WORKDIR /gateway
COPY --from=build /gateway/node_modules node_modules
COPY --from=build /release /
# By number: Kubernetes cannot tell whether a name is root's.
USER 1000:1000
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=15s --timeout=4s --start-period=30s --retries=3 CMD ["bash", "/gateway/deploy/image/health"]
ENTRYPOINT ["node", "/gateway/dist/src/cli.js"]
CMD ["serve"]
ARG NODE_IMAGE
ARG VERSION=1.3.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Content gateway" \
  org.opencontainers.image.description="A content service (games, image posts, users) whose whole API is one contract" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.base.name="docker.io/library/${NODE_IMAGE}"

FROM gateway AS sandbox
CMD ["serve", "--sandbox"]

# With a client that dumps servers, for the command backup.
FROM gateway AS backup
USER 0
RUN apt-get update && apt-get install --yes --no-install-recommends mariadb-client && rm -rf /var/lib/apt/lists/*
USER 1000:1000
CMD ["backup", "--help"]

# What is built where no target is named.
FROM gateway
