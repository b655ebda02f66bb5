import { MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { SimulatorProcess } from './simulator-process.js';

describe('the program', () => {
  it('runs a cluster of the given release and size', async () => {
    await using simulator = SimulatorProcess.start(['--shards', '3', '--routers', '2', '--version', '7.0']);
    const ready = await simulator.ready();
    expect(Object.keys(ready)).toEqual(['router', 'routers', 'config', 'shards', 'connectionString']);
    await using client = await MongoClient.connect(ready['connectionString'] as string);
    expect((await client.db('admin').command({ buildInfo: 1 }))['version']).toMatch(/^7\.0\./);
    expect((await client.db('admin').command({ listShards: 1 }))['shards']).toHaveLength(3);
    expect(ready['routers']).toHaveLength(2);
  });

  it('runs a plain replica set', async () => {
    await using simulator = SimulatorProcess.start(['--replica-set']);
    const ready = await simulator.ready();
    expect(ready).toMatchObject({ setName: 'rs0', replicaSet: expect.any(String) as string });
    await using client = await MongoClient.connect(ready['connectionString'] as string);
    expect((await client.db('admin').command({ hello: 1 }))['setName']).toBe('rs0');
  });

  it('asks for a login, once the first user was made from this machine', async () => {
    await using simulator = SimulatorProcess.start(['--shards', '1', '--auth']);
    const uri = new URL((await simulator.ready())['connectionString'] as string);
    await using first = await MongoClient.connect(uri.href);
    await expect(first.db('db').collection('c').findOne()).rejects.toMatchObject({ code: 13 });
    await first.db('admin').command({ createUser: 'root', pwd: 'secret', roles: ['root'] });
    await using user = await MongoClient.connect(`mongodb://root:secret@${uri.host}/`);
    expect(await user.db('db').collection('c').findOne()).toBeNull();
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('ends on %s', async (signal) => {
    await using simulator = SimulatorProcess.start(['--shards', '1']);
    await simulator.ready();
    simulator.child.kill(signal);
    expect(await simulator.ended).toMatchObject({ code: 0, errors: '' });
  });

  it('ends with its standard input on request', async () => {
    await using simulator = SimulatorProcess.start(['--shards', '1', '--watch-stdin']);
    await simulator.ready();
    simulator.child.stdin?.end();
    expect((await simulator.ended).code).toBe(0);
  });

  it('says in one sentence that a port is in use', async () => {
    await using first = SimulatorProcess.start(['--shards', '1']);
    const port = Number(String((await first.ready())['router']).split(':')[1]);
    await using second = SimulatorProcess.start(['--shards', '1', '--port', String(port)]);
    const { code, output, errors } = await second.ended;
    expect({ code, output }).toEqual({ code: 1, output: '' });
    const named = /^Port (\d+) of 127\.0\.0\.1 is in use: choose another --port, or 0 for any free ones\.\n$/.exec(
      errors,
    )?.[1];
    // The ports behind the first are taken, too, and may be other programs'.
    const portsTaken = 10;
    expect(Number(named)).toBeGreaterThanOrEqual(port);
    expect(Number(named)).toBeLessThan(port + portsTaken);
  });

  it('refuses what it does not understand with exit code 2', async () => {
    await using simulator = SimulatorProcess.start(['--shards', 'many']);
    expect(await simulator.ended).toEqual({
      code: 2,
      output: '',
      errors: "--shards takes a whole number from 1 to 64, not 'many'. --help lists the options.\n",
    });
  });

  it('explains itself', async () => {
    await using simulator = SimulatorProcess.start(['--help']);
    const { code, output, errors } = await simulator.ended;
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(output).toMatch(/^Usage: simulator \[options\]\n/);
  });
});
