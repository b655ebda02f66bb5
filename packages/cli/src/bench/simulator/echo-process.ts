import { createServer } from 'node:net';
import { EchoConnection } from './echo-connection.js';
import { storedBatches } from './echo-replies.js';

/**
 * The least that a server can do: takes the driver's messages, answers each insert with the same small document and
 * each read with batches that were made beforehand. Run as `node echo-process.js DOCUMENTS`; prints `echo on PORT`.
 */
const batches = storedBatches(Number(process.argv[2]));
const server = createServer((socket) => new EchoConnection(socket, batches));
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(`echo on ${typeof address === 'object' ? (address?.port ?? 0) : 0}`);
});
process.on('SIGTERM', () => process.exit(0));
