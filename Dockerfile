# Builds the command line `convoy` with everything it needs, and runs it as a user without rights.
FROM node:20-bookworm-slim AS build
WORKDIR /convoy
COPY package.json package-lock.json .npmrc tsconfig.base.json ./
COPY packages ./packages
COPY e2e/package.json ./e2e/package.json
RUN npm ci && npx tsc -b packages/cli
RUN npm prune --omit=dev && find packages -type d \( -name src -o -name test -o -name corpus \) -prune -exec rm -rf {} +

FROM node:20-bookworm-slim
WORKDIR /convoy
ENV NODE_ENV=production
COPY --from=build --chown=node:node /convoy ./
COPY LICENSE NOTICE ./
USER node
EXPOSE 27180 27182
ENTRYPOINT ["node", "packages/cli/dist/convoy.js"]
CMD ["--help"]
