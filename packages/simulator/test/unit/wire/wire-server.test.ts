import { expect, it } from 'vitest';
import { WireServer } from '../../../src/wire/wire-server.js';
import { WirePeer } from './wire-peer.js';

it('closes connections that come before its node is ready', async () => {
  const server = await WireServer.listen('127.0.0.1', 0, () => undefined);
  const early = await WirePeer.connect(server.port);
  await early.closed;
  expect([early.answers, server.connectionCount]).toEqual([[], 0]);
  await server.close();
});
