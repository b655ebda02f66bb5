import { writeFileSync } from 'node:fs';
import { MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { startReplicaSet } from '@convoy/simulator';
import { runCommand } from '../../command-host.js';

const password = 'secret';
const users = [
  { user: 'root', password, roles: ['root', 'restore'] },
  { user: 'shopper', password, roles: ['readWriteAnyDatabase'] },
];

test('convoy unblock allows user writes on a 7.0 cluster again', async () => {
  const [source, destination] = await Promise.all([
    startReplicaSet({ version: '7.0', auth: { users } }),
    startReplicaSet({ version: '7.0', auth: { users } }),
  ]);
  const as = (user: string, { connectionString }: typeof source): string =>
    connectionString.replace('mongodb://', `mongodb://${user}:${password}@`);
  const [root, shopper] = [new MongoClient(as('root', source)), new MongoClient(as('shopper', source))];
  try {
    await root.db('admin').command({ setUserWriteBlockMode: 1, global: true });
    const write = () => shopper.db('shop').collection('orders').insertOne({});
    await expect(write()).rejects.toMatchObject({ codeName: 'UserWritesBlocked' });
    using folder = ScratchFolder.create('test');
    const files = { cluster0: folder.file('cluster0'), cluster1: folder.file('cluster1') };
    writeFileSync(files.cluster0, as('root', source));
    writeFileSync(files.cluster1, as('root', destination));
    const flags = ['--cluster0-file', files.cluster0, '--cluster1-file', files.cluster1];
    const ended = await runCommand('unblock', 'cluster0', ...flags);
    expect(ended).toMatchObject({ code: 0, stdout: 'cluster0 accepts user writes again.\n', stderr: '' });
    await expect(write()).resolves.toMatchObject({ acknowledged: true });
  } finally {
    await Promise.all([root.close(), shopper.close()]);
    await Promise.all([source.close(), destination.close()]);
  }
});
