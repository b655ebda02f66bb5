import { expect, it } from 'vitest';
import { serversOf } from '@convoy/testbed/cluster/servers-of';

const bin = { kind: 'binaries', folder: '/bin-8' } as const;
const simulator = { kind: 'simulator' } as const;

it.each([
  ['nothing is set', {}, simulator, simulator, simulator],
  ['an empty variable', { MONGO_BIN: '' }, simulator, simulator, simulator],
  ['one folder for all', { MONGO_BIN: '/bin-8' }, bin, bin, bin],
  ['a folder wins over an image', { MONGO_BIN: '/bin-8', MONGO_IMAGE: 'mongo:7.0' }, bin, bin, bin],
  [
    'a pair of releases',
    { MONGO_BIN_SOURCE: '/bin-5', MONGO_BIN_DESTINATION: '/bin-8' },
    { kind: 'binaries', folder: '/bin-5' },
    bin,
    bin,
  ],
  [
    "a side's own image wins over the folder of all",
    { MONGO_BIN: '/bin-8', MONGO_IMAGE_SOURCE: 'mongo:6.0' },
    { kind: 'containers', image: 'mongo:6.0' },
    bin,
    bin,
  ],
  ['a real destination', { MONGO_BIN_DESTINATION: '/bin-8' }, simulator, bin, bin],
  ['a real source', { MONGO_BIN_SOURCE: '/bin-8' }, bin, simulator, bin],
])('%s', (_, environment, source, destination, other) => {
  expect(serversOf('source', environment)).toEqual(source);
  expect(serversOf('destination', environment)).toEqual(destination);
  expect(serversOf(undefined, environment)).toEqual(other);
});
