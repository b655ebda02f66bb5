import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { output, succeeds } from './command.mjs';
import { hasDebianPackages, unpackPackages } from './debian.mjs';

/** What a Debian system lacks to run an engine; `debootstrap` is for stand-ins of images. */
const packages = ['docker.io', 'iptables', 'slirp4netns', 'debootstrap'];
const answersWithin_ms = 60_000;
const poll_ms = 200;
/** First major release of Compose whose `up` has `--wait`. */
const composeMin = 2;

/**
 * @typedef {object} Engine
 * @property {string} origin for messages
 * @property {boolean} isOwn whether this process started it, and nobody else uses it
 * @property {Record<string, string>} env what commands to it need in the environment
 * @property {string[]} compose the command of Compose
 * @property {string[]} enter before a command that calls published ports: none, or what enters the engine's network
 * @property {() => Promise<void>} stop
 */

/**
 * The Docker engine of this machine, or one of its own: Debian's, unpacked into a folder, with a network and processes
 * apart from the machine's. It ends with this process.
 * @param {string} folder for an engine of its own, with its images
 * @returns {Promise<Engine | undefined>} undefined where there is none and none can be started
 */
export async function provideEngine(folder) {
  return (await presentEngine()) ?? ((await hasDebianPackages()) ? startEngine(folder) : undefined);
}

async function presentEngine() {
  if (!(await succeeds('docker', ['info'], { limit_ms: 20_000 }))) return undefined;
  for (const compose of [['docker', 'compose'], ['docker-compose']]) {
    const [command, ...args] = compose;
    const version = await output(command, [...args, 'version', '--short']).catch(() => '0');
    if (Number.parseInt(version.replace('v', ''), 10) >= composeMin)
      return { origin: "this machine's", isOwn: false, env: {}, compose, enter: [], stop: async () => {} };
  }
  return undefined;
}

async function startEngine(folder) {
  const { path, env } = await unpackPackages(folder, packages);
  const run = join(folder, 'run');
  rmSync(run, { recursive: true, force: true });
  mkdirSync(run, { recursive: true });
  // The variant that needs no modules of the kernel from /lib/modules.
  for (const name of ['iptables', 'ip6tables']) symlinkSync(join(path, 'usr/sbin/xtables-nft-multi'), join(run, name));
  const inside = { ...process.env, ...env, PATH: `${run}:${env.PATH}` };
  const log = openSync(join(folder, 'engine.log'), 'w');
  const started = (command, args) => {
    const child = spawn(command, args, { env: inside, stdio: ['ignore', log, log], detached: true });
    child.on('error', () => undefined);
    return child;
  };
  // The kernel ends everything inside with the first process there, and that one with this process.
  const apart = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const daemon = started('setpriv', ['--pdeathsig', 'KILL', 'unshare', ...apart, 'sh', '-c', daemonScript(folder)]);
  const pid = await poll('the engine has a process', () => childOf(daemon.pid));
  const link = ['--configure', '--mtu=65520', '--disable-host-loopback', String(pid), 'tap0'];
  const network = started('setpriv', ['--pdeathsig', 'KILL', 'slirp4netns', ...link]);
  const stop = async () => {
    for (const child of [network, daemon]) child.kill('SIGKILL');
    await poll('the engine has ended', async () => !existsSync(`/proc/${pid}`) || undefined);
  };
  const client = { ...env, DOCKER_HOST: `unix://${join(run, 'docker.sock')}` };
  try {
    await poll('the engine answers', () => succeeds('docker', ['info'], { env: client }).then((ok) => ok || undefined));
  } catch (error) {
    await stop();
    const lastWords = readFileSync(join(folder, 'engine.log'), 'utf8').slice(-2000);
    throw new Error(`${error.message} Its last words: ${lastWords}`, { cause: error });
  }
  const compose = [join(path, 'usr/libexec/docker/cli-plugins/docker-compose')];
  const enter = ['nsenter', `--net=/proc/${pid}/ns/net`];
  return { origin: "Debian's, in a network of its own", isOwn: true, env: client, compose, enter, stop };
}

/** Waits for the network's device, and becomes the daemon. */
function daemonScript(folder) {
  const run = join(folder, 'run');
  const options = [
    `--host 'unix://${join(run, 'docker.sock')}'`,
    `--data-root '${join(folder, 'data')}'`,
    `--exec-root '${join(run, 'exec')}'`,
    `--pidfile '${join(run, 'docker.pid')}'`,
  ];
  return [
    'while ! ip link show tap0 > /dev/null 2>&1; do sleep 0.1; done',
    'echo 1 > /proc/sys/net/ipv4/ip_forward',
    `exec dockerd ${options.join(' ')}`,
  ].join('\n');
}

async function childOf(pid) {
  const path = `/proc/${pid}/task/${pid}/children`;
  return existsSync(path) ? Number(readFileSync(path, 'utf8').trim().split(' ')[0]) || undefined : undefined;
}

async function poll(what, attempt) {
  const deadline = Date.now() + answersWithin_ms;
  for (;;) {
    const found = await attempt();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`Not within ${answersWithin_ms / 1000} s: ${what}.`);
    await delay(poll_ms);
  }
}
