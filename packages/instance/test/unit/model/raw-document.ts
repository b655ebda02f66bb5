import { DocumentBuilder } from '../../../src/bson/build.js';
import { elementsOf, rawValue, type RawValue } from '../../../src/bson/scan.js';

/** A document as its fields in order. */
export type Fields = [name: string, value: RawValue][];

export function fieldsOf(document: Uint8Array): Fields {
  return [...elementsOf(document)].map((element) => [element.name, rawValue(document, element)]);
}

export function documentOf(fields: Fields): Buffer {
  const builder = new DocumentBuilder();
  for (const [name, value] of fields) builder.raw(name, value);
  return Buffer.from(builder.finish());
}

/** Sets a field in its place, or at the end when it is new: what `$set` of a server does. */
export function withField(fields: Fields, name: string, value: RawValue): Fields {
  if (!fields.some(([present]) => present === name)) return [...fields, [name, value]];
  return fields.map(([present, old]) => [present, present === name ? value : old]);
}

export function withoutField(fields: Fields, name: string): Fields {
  return fields.filter(([present]) => present !== name);
}

export function fieldOf(fields: Fields, name: string): RawValue | undefined {
  return fields.find(([present]) => present === name)?.[1];
}
