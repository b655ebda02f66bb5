import { expect, it } from 'vitest';
import { bucketsOf, seriesOf, shownName, userName } from '../../../src/cluster/time-series.js';

it.each([
  ['system.buckets.readings', 'readings', 'readings'],
  ['system.buckets.a.b', 'a.b', 'a.b'],
  ['readings', null, 'readings'],
  ['system.js', null, 'system.js'],
])('%s has the buckets of %s, and users know it as %s', (collection, series, name) => {
  expect(seriesOf(collection)).toBe(series);
  expect(userName(collection)).toBe(name);
  expect(shownName({ database: 'plant', name: collection })).toBe(`plant.${name}`);
  if (series !== null) expect(bucketsOf(series)).toBe(collection);
});
