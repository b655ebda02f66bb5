import { createConnection } from 'node:net';

/**
 * Sends one inline command to a Redis and waits for its answer.
 * @param expected how the answer begins
 * @throws Error with another answer
 */
export function redisCommand(url: string, command: string, expected: string): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = createConnection(Number(port), hostname, () => socket.write(`${command}\r\n`));
    socket.once('error', reject);
    socket.once('data', (reply) => {
      socket.end();
      if (reply.toString().startsWith(expected)) resolve();
      else reject(new Error(reply.toString()));
    });
  });
}
