import { z } from 'zod';

const unitBytes: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 2 ** 10,
  mb: 2 ** 20,
  gb: 2 ** 30,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
};
const pattern = /^(\d{1,15})\s*([a-z]{0,3})$/i;

/** Bytes of a text like `128MB` or `1GiB`; units are powers of 1024. Undefined for any other text. */
export function bytesOf(text: string): number | undefined {
  const match = pattern.exec(text.trim());
  const unit = unitBytes[match?.[2]?.toLowerCase() ?? ''];
  return match === null || unit === undefined ? undefined : Number(match[1]) * unit;
}

/** A size in bytes, written as a number or with a unit. */
export function byteSizeSchema(bytesMin: number, bytesMax: number) {
  const bounds = `must be a size from ${bytesMin} to ${bytesMax} bytes, for example 128MB`;
  return z
    .union([z.number(), z.string().transform((text) => bytesOf(text) ?? NaN)], { error: bounds })
    .refine((bytes) => Number.isSafeInteger(bytes) && bytes >= bytesMin && bytes <= bytesMax, bounds);
}
