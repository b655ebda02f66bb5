import { createServer } from 'node:net';
import { EchoConnection } from './echo-connection.js';
import { storedBatches } from './echo-replies.js';

/**
 * The minimal server: reads the driver's messages, replies to each insert with the same small document and to each read
 * with prepared batches. `node echo-process.js DOCUMENTS`; prints `echo on PORT`.
 */
const batches = storedBatches(Number(process.argv[2]));
const server = createServer((socket) => new EchoConnection(socket, batches));
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(`echo on ${typeof address === 'object' ? (address?.port ?? 0) : 0}`);
});
process.on('SIGTERM', () => process.exit(0));
