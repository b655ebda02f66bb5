import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { randomInt } from 'node:crypto';

/**
 * Linux takes the ports of outgoing connections from 32768 on (`ip_local_port_range`): below, no connection that is made
 * while a server is still starting can take its port away.
 */
const portMin = 15_000;
const portMax = 32_000;
/** With thousands of free ports, so many occupied ones in a row mean that something else is wrong. */
const attemptsMax = 50;

/**
 * A TCP port of 127.0.0.1 that nobody listens on at this moment, and that is given out once while this process lives.
 * For processes that must keep their port over a restart; whatever can choose a port by itself should.
 * @throws the failure to listen when no free port is found
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
 * Holds the UDP port of the same number until this process ends. It keeps nobody from listening by TCP, and whoever looks for a
 * port leaves this number out: also while the process that is to listen on it starts, or starts again.
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
