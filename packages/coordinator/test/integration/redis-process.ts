import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

/** Log lines of a ready server; a Sentinel names what it watches. */
const READY = /Ready to accept connections|\+monitor/;

/** Below Linux's range of outgoing ports, so that no connection takes the port of a server that is briefly down. */
const PORTS = { from: 15_000, to: 32_000 };

/** A port of this host that was free just now; each is returned once per process. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.to);
    if (await take(port)) return port;
  }
}

/** Holds the UDP port of the same number. It does not block TCP, but marks the port as taken for other callers. */
async function take(port: number): Promise<boolean> {
  const reservation = createSocket('udp4');
  try {
    reservation.bind({ port, address: '127.0.0.1', exclusive: true });
    await once(reservation, 'listening');
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    reservation.unref();
    return true;
  } catch {
    reservation.close();
    return false;
  }
}

/** Starts a `redis-server` with the given arguments and waits until it is ready. */
export async function startRedisProcess(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn('redis-server', [...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (READY.test(line)) resolve();
    });
    child.once('exit', () => reject(new Error('redis-server has ended before it was ready')));
    child.once('error', reject);
  });
  return child;
}

/** Kills a server, as a power failure does. */
export async function killRedisProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** Arguments of a server that stores only the required files, all in the folder. */
export function serverArgs(port: number, folder: string): string[] {
  return ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder];
}
