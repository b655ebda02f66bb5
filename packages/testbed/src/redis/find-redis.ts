import { execFile } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Child } from '../process/child.js';
import { freePort } from '../process/free-port.js';
import { isExecutable } from '../process/is-executable.js';
import type { ScratchFolder } from '../process/scratch-folder.js';
import { unpackDebianRedis } from './debian-redis.js';
import { RedisServer } from './redis-server.js';

const execFileAsync = promisify(execFile);

/** A Redis for tests and the demo. */
export interface Redis extends AsyncDisposable {
  readonly url: string;
  /** Its origin, for messages: a setting, a program's path, a container image, a package. */
  readonly origin: string;
  /** Its process, if this process started it on this host. */
  readonly pid?: number;
  /** Stops it, unless it comes from CONVOY_REDIS_URL. */
  close(): Promise<void>;
}

/** Time limit that includes pulling the image. */
const containerReadyWithin_ms = 180_000;
const containerImage = 'redis:7-alpine';
const dockerAnswersWithin_ms = 5_000;

/**
 * Finds or starts a Redis; the first of CONVOY_REDIS_URL, `redis-server` or `valkey-server` on the PATH, a container
 * (where Docker has the image or can fetch it), Debian's package unpacked into `.cache`.
 * @throws Error that says what to install, when there is none
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
  const container = (await hasDocker()) ? await startContainer(folder).catch(String) : undefined;
  if (typeof container === 'object') return container;
  // Docker may be there without the image, and without a way to fetch it.
  const unpacked = await unpackDebianRedis();
  if (unpacked) return RedisServer.start(unpacked, folder);
  throw new Error(
    'Convoy needs Redis. Install redis-server (or valkey-server), start Docker, or set CONVOY_REDIS_URL to a ' +
      'running one.' +
      (container === undefined ? '' : ` Docker is there, but its container did not start: ${container}`),
  );
}

/**
 * Provides a `redis-server` for tests that start and kill one.
 * @returns a folder for the PATH; undefined when a server exists already, or none is available
 */
export async function redisFolder(): Promise<string | undefined> {
  if (programOnPath('redis-server')) return undefined;
  const unpacked = await unpackDebianRedis();
  return unpacked && dirname(unpacked.path);
}

function programOnPath(name: string): string | undefined {
  const candidates = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name));
  return candidates.find(isExecutable);
}

async function hasDocker(): Promise<boolean> {
  try {
    await execFileAsync('docker', ['info'], { timeout: dockerAnswersWithin_ms });
    return true;
  } catch {
    return false;
  }
}

/** The container ends with its standard input, and therefore with this process; see `watchInput`. */
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
