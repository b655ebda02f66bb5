import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runNpm } from '../own-node.mjs';
import { output, succeeds } from './command.mjs';
import { hasDebianPackages, mirror, unpackPackages } from './debian.mjs';

const pullWithin_ms = 300_000;
/** Release of Debian that the image of Node.js is built on. */
const suite = 'bookworm';
const debian = 'convoy-check-debian';
const scratch = 'convoy-check-stand-in';

/** Makes a stand-in under the name of an image that cannot be pulled: its like of Debian's packages. */
const standIns = {
  'node:24-bookworm-slim': makeNode,
  'redis:7-alpine': makeRedis,
};

/**
 * Provides the images that Dockerfile and docker-compose.yml name: pulled, or stand-ins.
 * @param {import('./engine.mjs').Engine} engine
 * @param {string} folder for what is downloaded
 * @returns {Promise<string[] | undefined>} the names of stand-ins; undefined where neither can be had
 */
export async function provideImages({ env }, folder) {
  const made = [];
  for (const [name, make] of Object.entries(standIns)) {
    if (await succeeds('docker', ['image', 'inspect', name], { env })) continue;
    if (await succeeds('docker', ['pull', '--quiet', name], { env, limit_ms: pullWithin_ms })) continue;
    if (!(await hasDebianPackages())) return undefined;
    await makeDebian(env, folder);
    await make(name, env, folder);
    made.push(name);
  }
  return made;
}

async function makeDebian(env, folder) {
  if (await succeeds('docker', ['image', 'inspect', debian], { env })) return;
  const { env: tools } = await unpackPackages(folder, ['debootstrap']);
  const tree = join(folder, suite);
  const archive = `${tree}.tar`;
  rmSync(tree, { recursive: true, force: true });
  await output('debootstrap', ['--variant=minbase', '--include=ca-certificates', suite, tree, await mirror()], {
    env: tools,
  });
  const cached = ['./var/cache/apt', './var/lib/apt/lists', './dev', './proc', './sys'];
  await output('tar', ['-C', tree, ...cached.map((path) => `--exclude=${path}/*`), '-cf', archive, '.']);
  await output('docker', ['import', archive, debian], { env });
  rmSync(tree, { recursive: true });
  rmSync(archive);
}

/** Node.js and npm come from npm, which has both as packages; the user `node` is that of the image. */
async function makeNode(name, env, folder) {
  const stage = join(folder, 'node-24');
  if (!existsSync(stage)) {
    const work = `${stage}-fetching`;
    rmSync(work, { recursive: true, force: true });
    mkdirSync(work, { recursive: true });
    const exit = await runNpm(['install', '--prefix', work, '--no-save', '--no-package-lock', 'node@24', 'npm@11']);
    if (exit !== 0) throw new Error('Node.js and npm for the stand-in could not be fetched: npm failed, see above.');
    renameSync(work, stage);
  }
  const modules = join(stage, 'node_modules');
  const files = [
    [join(modules, 'node', 'bin', 'node'), '/usr/local/bin/node'],
    [join(modules, 'npm'), '/usr/local/lib/npm'],
  ];
  const changes = ['CMD ["node"]'];
  // What this host trusts in place of the usual authorities.
  const authorities = process.env.NODE_EXTRA_CA_CERTS;
  if (authorities) {
    files.push([authorities, '/usr/local/lib/extra-ca.pem']);
    changes.push('ENV NODE_EXTRA_CA_CERTS=/usr/local/lib/extra-ca.pem');
  }
  const script = [
    'set -e',
    'useradd --uid 1000 --create-home node',
    'for name in npm npx; do ln -s ../lib/npm/bin/$name-cli.js /usr/local/bin/$name; done',
    'chmod -R a+rX /usr/local',
    'node --version && npm --version',
  ];
  await commit(name, env, { files, script, changes });
}

/** The image's Redis is compiled without the protected mode, which would refuse everybody beyond the container. */
async function makeRedis(name, env) {
  const program = '/usr/local/bin/redis-server';
  const script = [
    'set -e',
    'apt-get update',
    'apt-get install --yes --no-install-recommends redis-server',
    'rm -rf /var/lib/apt/lists/* /var/cache/apt/*',
    'mkdir /data && chown redis:redis /data',
    `echo '#!/bin/sh' > ${program}`,
    `echo 'exec /usr/bin/redis-server "$@" --protected-mode no' >> ${program}`,
    `chmod +x ${program}`,
  ];
  await commit(name, env, { files: [], script, changes: ['WORKDIR /data', 'VOLUME /data', 'CMD ["redis-server"]'] });
}

/** An image of Debian's, with files, after a script. */
async function commit(name, env, { files, script, changes }) {
  const docker = (...args) => output('docker', args, { env });
  await succeeds('docker', ['rm', '--force', scratch], { env });
  await docker('create', '--name', scratch, debian, 'sh', '-c', script.join('\n'));
  for (const [from, to] of files) await docker('cp', '--follow-link', from, `${scratch}:${to}`);
  await docker('start', '--attach', scratch);
  await docker('commit', ...changes.flatMap((change) => ['--change', change]), scratch, name);
  await docker('rm', scratch);
}
