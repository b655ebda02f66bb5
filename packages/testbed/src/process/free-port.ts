import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { randomInt } from 'node:crypto';

/**
 * Linux assigns ports of outgoing connections from 32768 on (`ip_local_port_range`). Below, no connection can take the
 * port of a server that is still starting.
 */
const portMin = 15_000;
const portMax = 32_000;
/** With thousands of free ports, this many taken ones in a row have another cause. */
const attemptsMax = 50;

/**
 * A free TCP port of 127.0.0.1 that this process returns only once. For processes that keep their port over a restart;
 * others should let the system choose.
 * @throws the failure to listen when it finds no free port
 */
export async function freePort(): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const port = randomInt(portMin, portMax);
    try {
      await take(port);
      return port;
    } catch (error) {
      if (attempt >= attemptsMax || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}

/**
 * Holds the UDP port of the same number until this process ends. It does not block TCP, but marks the port as taken for
 * other callers, even while its server starts or restarts.
 */
async function take(port: number): Promise<void> {
  const reservation = createSocket('udp4');
  try {
    reservation.bind({ port, address: '127.0.0.1', exclusive: true });
    await once(reservation, 'listening');
    await listenOnce(port);
    reservation.unref();
  } catch (error) {
    reservation.close();
    throw error;
  }
}

async function listenOnce(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}
