import { createRequire } from 'node:module';
import type { Document } from 'mongodb';
import { readGazetteer } from './gazetteer.js';

/** See `measurement`. */
export type Measurement = Document & { _id: number };

const { cities, regions, origin } = readGazetteer(createRequire(import.meta.url));

/** First year of the derived measurements. */
const firstYear = 2001;
/** Annual amplitude of the mean temperature at the poles, in degrees Celsius. */
const seasonalSwing_celsius = 24;

/** Where the places come from, for messages. */
export const placesOrigin = origin;
/** Number of distinct places: more than 150,000. */
export const placeCount = cities.length;
/** Number of administrative regions. */
export const regionCount = regions.length;

/** This many places, from all countries; their `_id`s start at 0. */
export function* places(count = placeCount): Generator<Document> {
  for (const [id, city] of someOf(cities, count)) {
    yield {
      _id: id,
      name: city.name,
      country: city.country,
      region: [city.country, city.admin1, city.admin2].filter((part) => part !== '').join('.'),
      location: { type: 'Point', coordinates: [Number(city.lng), Number(city.lat)] },
    };
  }
}

/** This many administrative regions; their codes are unique. */
export function* administrativeRegions(count = regionCount): Generator<Document> {
  for (const [, { code, name }] of someOf(regions, count))
    yield { code, name, country: code.slice(0, 2), level: code.split('.').length - 1 };
}

/** `count` elements with their positions, at even distances. */
function* someOf<Element>(all: readonly Element[], count: number): Generator<[number, Element]> {
  for (let taken = 0; taken < count; taken += 1) {
    const position = Math.floor((taken * all.length) / count);
    yield [position, all[position] as Element];
  }
}

/** Country codes in order, with their number of places. */
export function countries(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { country } of cities) counts.set(country, (counts.get(country) ?? 0) + 1);
  return new Map([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** `count` measurement documents, over all places, year by year. */
export function* measurements(count: number): Generator<Measurement> {
  for (let id = 0; id < count; id += 1) yield measurement(id);
}

/**
 * One year of monthly climate data of one place, about 1 kB. Computed from its latitude, not observed, but shaped like
 * observations.
 */
export function measurement(id: number): Measurement {
  const place = id % cities.length;
  const year = firstYear + Math.floor(id / cities.length);
  const city = cities[place];
  if (city === undefined) throw new RangeError(`There is no place ${place}.`);
  const latitude = Number(city.lat);
  return {
    _id: id,
    place,
    name: city.name,
    country: city.country,
    year,
    revision: 0,
    months: months(latitude, place + year),
  };
}

function months(latitude: number, variation: number): Document[] {
  return Array.from({ length: 12 }, (_, month) => {
    const summer = Math.cos(((month - 6) / 6) * Math.PI) * Math.sign(latitude || 1);
    const mean =
      27 -
      Math.abs(latitude) * 0.45 +
      (summer * seasonalSwing_celsius * Math.abs(latitude)) / 90 +
      ((variation * 7 + month) % 11) / 10;
    return {
      month: month + 1,
      mean_celsius: Math.round(mean * 10) / 10,
      rain_mm: (variation * 31 + month * 17) % 140,
      sun_hours: Math.round((12 + summer * Math.abs(latitude) * 0.08) * 30),
    };
  });
}
