import { expect, it } from 'vitest';
import { fromExtendedJson, toExtendedJson } from '../../extended-json.js';
import { hashShardKeyValue } from '../../../src/bson/hash.js';
import { corpusSteps } from '../corpus.js';

const steps = corpusSteps('09').filter((step) => step.command !== undefined && '_hashBSONElement' in step.command);

it('has recorded hashes to compare with', () => {
  expect(steps.length).toBe(41);
});

it.each(steps.map((step) => [JSON.stringify(step.command?._hashBSONElement).slice(0, 60), step] as const))(
  'hashes %s as the server does',
  (_name, step) => {
    expect(toExtendedJson(hashShardKeyValue(fromExtendedJson(step.command?._hashBSONElement)))).toEqual(
      step.reply?.out,
    );
  },
);
