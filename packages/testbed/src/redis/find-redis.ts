import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Child } from '../process/child.js';
import { freePort } from '../process/free-port.js';
import type { ScratchFolder } from '../process/scratch-folder.js';
import { unpackDebianRedis } from './debian-redis.js';
import { RedisServer } from './redis-server.js';

const execFileAsync = promisify(execFile);

/** A Redis for tests and the demo. */
export interface Redis extends AsyncDisposable {
  readonly url: string;
  /** Where it came from, for messages: a setting, a program's path, a container image, a package. */
  readonly origin: string;
  /** Its process, when it is one of this machine and ours. */
  readonly pid?: number;
  /** Ends it, unless it was only given by CONVOY_REDIS_URL. */
  close(): Promise<void>;
}

/** The image may have to be fetched first. */
const containerReadyWithin_ms = 180_000;
const containerImage = 'redis:7-alpine';
const dockerAnswersWithin_ms = 5_000;

/**
 * Finds or starts a Redis, the first that there is: CONVOY_REDIS_URL, `redis-server` or `valkey-server` on the PATH,
 * a container, Debian's package unpacked into `.cache`.
 * @throws Error in one sentence that says what to install when there is none
 */
export async function findRedis(folder: ScratchFolder): Promise<Redis> {
  const url = process.env['CONVOY_REDIS_URL'];
  if (url)
    return {
      url,
      origin: 'CONVOY_REDIS_URL',
      close: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  const installed = programOnPath('redis-server') ?? programOnPath('valkey-server');
  if (installed) return RedisServer.start({ path: installed, origin: installed }, folder);
  if (await hasDocker()) return startContainer(folder);
  const unpacked = await unpackDebianRedis();
  if (unpacked) return RedisServer.start(unpacked, folder);
  throw new Error(
    'Convoy needs Redis: install redis-server (or valkey-server), or start Docker, or set CONVOY_REDIS_URL to a running one.',
  );
}

/**
 * Makes sure that there is a `redis-server` for tests that start and kill one by themselves.
 * @returns a folder to be put on the PATH; undefined when a server is there already, or none can be had
 */
export async function redisFolder(): Promise<string | undefined> {
  if (programOnPath('redis-server')) return undefined;
  const unpacked = await unpackDebianRedis();
  return unpacked && dirname(unpacked.path);
}

function programOnPath(name: string): string | undefined {
  const candidates = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name));
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

async function hasDocker(): Promise<boolean> {
  try {
    await execFileAsync('docker', ['info'], { timeout: dockerAnswersWithin_ms });
    return true;
  } catch {
    return false;
  }
}

/** The container ends with its standard input, so that it ends when this process does; see `watchInput`. */
async function startContainer(folder: ScratchFolder): Promise<Redis> {
  const port = await freePort();
  const watchInput = `redis-server --save '' & cat > /dev/null; kill $!; wait`;
  const child = await Child.start({
    name: 'Redis container',
    command: 'docker',
    args: [
      'run',
      '--rm',
      '--interactive',
      '--publish',
      `127.0.0.1:${port}:6379`,
      containerImage,
      'sh',
      '-c',
      watchInput,
    ],
    holdInput: true,
    ready: /Ready to accept connections/,
    readyWithin_ms: containerReadyWithin_ms,
    logFile: folder.file('redis.log'),
  });
  const close = async () => {
    await child.stop();
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    origin: `container ${containerImage}`,
    pid: child.pid,
    close,
    [Symbol.asyncDispose]: close,
  };
}
