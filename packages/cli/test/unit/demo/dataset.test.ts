import { expect, test } from 'vitest';
import { BSON } from 'mongodb';
import { administrativeRegions, countries, measurement, placeCount, places } from '@convoy/cli/demo/dataset';
import { demoSizes } from '@convoy/cli/demo/load';

test('there are more than 150,000 real places with coordinates', () => {
  const all = [...places()];
  expect(all.length).toBe(placeCount);
  expect(all.length).toBeGreaterThan(150_000);
  const boston = all.find(({ name, region }) => name === 'Boston' && region === 'US.MA.025');
  expect(boston).toMatchObject({ country: 'US', location: { type: 'Point', coordinates: [-71.05977, 42.35843] } });
  const valid = ({ location }: (typeof all)[number]) => {
    const [longitude = NaN, latitude = NaN] = (location as { coordinates: number[] }).coordinates;
    return Math.abs(longitude) <= 180 && Math.abs(latitude) <= 90;
  };
  expect(all.every(valid)).toBe(true);
});

test('codes of regions are unique, as their index requires', () => {
  const codes = [...administrativeRegions()].map(({ code }) => code as string);
  expect(new Set(codes).size).toBe(codes.length);
});

test('countries are in order and cover all places', () => {
  const counts = countries();
  expect([...counts.keys()]).toEqual([...counts.keys()].sort());
  expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(placeCount);
});

test('a measurement depends only on its number, and places repeat year by year', () => {
  expect(measurement(5)).toEqual(measurement(5));
  expect(measurement(5)).toMatchObject({ _id: 5, place: 5, year: 2001 });
  expect(measurement(placeCount + 5)).toMatchObject({ place: 5, year: 2002 });
  expect(BSON.serialize(measurement(5)).length).toBeGreaterThan(800);
});

test('a large demo has all places and otherwise measurements, a small one a part of each', () => {
  const { measurements, ...whole } = demoSizes(450_000);
  expect(whole).toMatchObject({ places: placeCount, changes: 25_000 });
  expect(measurements).toBe(450_000 - whole.places - whole.regions - whole.changes);
  const small = demoSizes(10_000);
  expect(small.places + small.regions + small.changes + small.measurements).toBe(10_000);
  for (const count of [small.regions, small.changes, small.measurements]) expect(count).toBeGreaterThan(100);
  const ids = [...places(small.places)].map(({ _id }) => _id as number);
  expect(new Set(ids).size).toBe(small.places);
  expect(ids.at(-1)).toBeGreaterThan(placeCount * 0.9);
});
