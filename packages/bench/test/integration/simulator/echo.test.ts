import { createServer, type AddressInfo } from 'node:net';
import { MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { EchoConnection } from '../../../src/simulator/echo-connection.js';
import { storedBatches } from '../../../src/simulator/echo-replies.js';

it("accepts the driver's inserts and answers its reads", async () => {
  const batches = storedBatches(3_000);
  const server = createServer((socket) => new EchoConnection(socket, batches));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = new MongoClient(`mongodb://127.0.0.1:${(server.address() as AddressInfo).port}/`, { maxPoolSize: 1 });
  try {
    const collection = client.db('bench').collection('documents');
    await collection.insertMany(
      Array.from({ length: 5_000 }, (_, n) => ({ n, text: 'x'.repeat(n % 900) })),
      { ordered: false },
    );
    const read = await collection.find({}, { batchSize: 1_000 }).toArray();
    expect(read).toHaveLength(3_000);
  } finally {
    await client.close();
    await new Promise((resolve) => server.close(resolve));
  }
});
