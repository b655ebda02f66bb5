import { expect, it } from 'vitest';
import { toExtendedJson } from '../../extended-json.js';
import { compilePipeline } from '../../../src/pipeline/stages.js';
import { doc } from '../json.js';

const employees = [
  { _id: 1, boss: null },
  { _id: 2, boss: 1 },
  { _id: 3, boss: 2 },
  { _id: 4, boss: 3 },
];

function chain(options: Record<string, unknown>): unknown {
  const stage = doc({
    $graphLookup: {
      from: 'e',
      startWith: '$boss',
      connectFromField: 'boss',
      connectToField: '_id',
      as: 'up',
      ...options,
    },
  });
  const [found] = compilePipeline([stage], { lookup: () => employees.map(doc) })([doc({ boss: 3 })]);
  return (toExtendedJson(found?.get('up') ?? null) as { _id: { $numberInt: string } }[]).map(({ _id }) =>
    Number(_id.$numberInt),
  );
}

it('$graphLookup follows equal fields as deep as it may', () => {
  expect(chain({})).toEqual([3, 2, 1]);
  expect(chain({ maxDepth: 1 })).toEqual([3, 2]);
  expect(() => chain({ depthField: 'depth' })).toThrow(expect.objectContaining({ code: 115 }));
});
