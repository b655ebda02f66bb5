# Builds the command line `convoy` with everything it needs, and runs it as a user without rights.
FROM node:24-bookworm-slim AS build
WORKDIR /convoy
COPY package.json package-lock.json .npmrc tsconfig.base.json ./
COPY packages ./packages
COPY e2e/package.json ./e2e/package.json
COPY scripts/build-image.sh ./scripts/build-image.sh
RUN scripts/build-image.sh

FROM node:24-bookworm-slim
WORKDIR /convoy
# The file system may be read-only but for /tmp: `convoy verify` keeps its state there.
ENV NODE_ENV=production XDG_STATE_HOME=/tmp PATH=/convoy/node_modules/.bin:$PATH
COPY --from=build --chown=root:root /convoy/node_modules ./node_modules
COPY --from=build --chown=root:root /convoy/packages ./packages
COPY package.json LICENSE NOTICE ./
USER node
EXPOSE 27180 27182
# Ready: an instance has reached both clusters, a coordinator its Redis. `docker compose up --wait` waits for it, and
# nothing restarts a container that is not. The path asks for no token. A command that serves nothing is never healthy.
# With CONVOY_TLS it asks by TLS.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "require(process.env.CONVOY_TLS ? 'https' : 'http').get({ host: '127.0.0.1', port: process.env.CONVOY_HEALTH_PORT || 27182, path: '/readyz', rejectUnauthorized: false }, (reply) => process.exit(reply.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["convoy"]
CMD ["--help"]
