import { BSONRegExp } from 'bson';
import { describe, expect, it } from 'vitest';
import { ShardFixture } from '../shard-fixture.js';

describe('scans by a prefix of _id', () => {
  it('give the documents in the order of _id, and only those the expression matches', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', {
      insert: 'c',
      documents: ['b.2', 'a.1', 'b', 'b.10', 'bx', 'c.1', 'b.1'].map((_id) => ({ _id })),
    });
    const ids = async (pattern: string): Promise<unknown[]> => {
      const found = await fixture.found('db', { find: 'c', filter: { _id: new BSONRegExp(pattern, '') } });
      expect(await fixture.found('db', { find: 'c', filter: { _id: { $regex: pattern } } })).toEqual(found);
      return found.map((each) => (each as { _id: string })._id);
    };
    expect(await ids('^b\\.')).toEqual(['b.1', 'b.10', 'b.2']);
    expect(await ids('^b')).toEqual(['b', 'b.1', 'b.10', 'b.2', 'bx']);
    expect(await ids('^bx?$')).toEqual(['b', 'bx']);
    expect(await ids('^b\\.1+$')).toEqual(['b.1']);
    expect((await ids('^a|c')).sort()).toEqual(['a.1', 'c.1']);
  });
});
