import { expect, it } from 'vitest';
import { readyText, startFailure } from '../../../src/process/messages.js';

const order = { kind: 'cluster', shards: 2, routers: 1, port: 1, version: '7.0', auth: false, limits: {} } as const;

it('shows a person where to connect and how to stop a cluster', () => {
  const ready = {
    router: '127.0.0.1:1',
    routers: ['127.0.0.1:1'],
    config: '127.0.0.1:2',
    shards: ['127.0.0.1:3', '127.0.0.1:4'],
    connectionString: 'mongodb://127.0.0.1:1',
  };
  const text = readyText(ready, order);
  expect(text).toMatch(/MongoDB 7\.0 cluster is running: 2 shards/);
  expect(text).toMatch(/\nConnect to mongodb:\/\/127\.0\.0\.1:1\n/);
  expect(text).toMatch(/127\.0\.0\.1:4\/\?directConnection=true {2}shard1/);
  expect(text).toMatch(/Ctrl-C/);
});

it('shows a person where a replica set listens', () => {
  const text = readyText(
    { replicaSet: '127.0.0.1:1', setName: 'rs0', connectionString: 'mongodb://127.0.0.1:1/?replicaSet=rs0' },
    { ...order, kind: 'replicaSet' },
  );
  expect(text).toContain('mongodb://127.0.0.1:1/?replicaSet=rs0  set rs0');
});

it('says in one sentence why nothing started', () => {
  expect(startFailure(Object.assign(new Error('listen'), { code: 'EADDRINUSE', port: 5, address: '127.0.0.1' }))).toBe(
    'Port 5 of 127.0.0.1 is in use: choose another --port, or 0 for any free ones.',
  );
  expect(startFailure('odd')).toBe('odd');
});
