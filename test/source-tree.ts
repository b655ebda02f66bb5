import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

import ts from 'typescript';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** One module of the project. */
export interface Module {
  /** Path from the repository's folder, with slashes. */
  path: string;
  /**
   * Its imports: paths of the project's modules (`loaded`: those that exist at run time too, not for types alone),
   * and packages.
   */
  imports: { path: string[]; loaded: string[]; external: string[] };
  lines: number;
  /** Line numbers where the type `any` is written. */
  anys: number[];
  /** Line numbers of casts that no type can refuse: to `never`, or through `unknown`. */
  forced: number[];
}

/** Files under version control, and new ones that are not ignored. */
export function trackedFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  return listed
    .toString()
    .split('\0')
    .filter((path) => path !== '' && existsSync(join(root, path)));
}

export function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** All TypeScript and script modules. */
export function readModules(): Module[] {
  return trackedFiles()
    .filter((path) => /\.(ts|mts|mjs|js)$/.test(path))
    .map(readModule);
}

/** Names of the members of a file's classes that other files can assign to: public fields and setters. */
export function writableMembers(path: string): string[] {
  const file = ts.createSourceFile(path, readText(path), ts.ScriptTarget.Latest);
  const members = file.statements.filter(ts.isClassDeclaration).flatMap((declared) => [...declared.members]);
  const isOpen = (node: ts.PropertyDeclaration | ts.SetAccessorDeclaration | ts.ParameterDeclaration): boolean =>
    !ts.getModifiers(node)?.some(({ kind }) => closing.has(kind)) && !ts.isPrivateIdentifier(node.name);
  const parameters = members
    .filter(ts.isConstructorDeclaration)
    .flatMap((made) => made.parameters.filter((each) => ts.isParameterPropertyDeclaration(each, made)));
  const fields = members.filter((member) => ts.isPropertyDeclaration(member) || ts.isSetAccessorDeclaration(member));
  return [...fields, ...parameters].filter(isOpen).map(({ name }) => name.getText(file));
}

/** Modifiers with which the compiler refuses assignments from outside. */
const closing: ReadonlySet<ts.SyntaxKind> = new Set([ts.SyntaxKind.PrivateKeyword, ts.SyntaxKind.ReadonlyKeyword]);

/** Comments are not parsed as types; nobody asks for them. */
const withoutComments: ts.CreateSourceFileOptions = {
  languageVersion: ts.ScriptTarget.Latest,
  jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
};

/** What a module without any of these words has only at its top: imports and exports. Casts are then to named types. */
const wordsInside = /\bany\b|\bnever\b|\bunknown\b|\bimport\s*\(/;

function readModule(path: string): Module {
  const text = readText(path);
  const file = ts.createSourceFile(path, text, withoutComments);
  const module: Module = {
    path,
    imports: { path: [], loaded: [], external: [] },
    lines: text.split('\n').length - 1,
    anys: [],
    forced: [],
  };
  const lineOf = (node: ts.Node): number => file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
  const visit = (node: ts.Node): void => {
    const specifier = importedFrom(node);
    if (specifier !== undefined) addImport(module, specifier, isForTypesAlone(node));
    if (node.kind === ts.SyntaxKind.AnyKeyword) module.anys.push(lineOf(node));
    if (isForced(node)) module.forced.push(lineOf(node));
  };
  const visitAll = (node: ts.Node): void => {
    visit(node);
    ts.forEachChild(node, visitAll);
  };
  if (wordsInside.test(text)) visitAll(file);
  else file.statements.forEach(visit);
  return module;
}

/** A cast that the compiler accepts for every value. */
function isForced(node: ts.Node): boolean {
  if (!ts.isAsExpression(node)) return false;
  const { expression, type } = node;
  const throughUnknown = ts.isAsExpression(expression) && expression.type.kind === ts.SyntaxKind.UnknownKeyword;
  return throughUnknown || type.kind === ts.SyntaxKind.NeverKeyword;
}

/** The specifier of an import or export declaration, an import type or a dynamic import. */
function importedFrom(node: ts.Node): string | undefined {
  if (
    (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) &&
    node.moduleSpecifier &&
    ts.isStringLiteral(node.moduleSpecifier)
  )
    return node.moduleSpecifier.text;
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument) && ts.isStringLiteral(node.argument.literal))
    return node.argument.literal.text;
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    const [argument] = node.arguments;
    return argument && ts.isStringLiteral(argument) ? argument.text : undefined;
  }
  return undefined;
}

/** True for what the compiler leaves out: `import type`, and imports in which every name is marked as a type. */
function isForTypesAlone(node: ts.Node): boolean {
  if (ts.isImportTypeNode(node)) return true;
  if (ts.isExportDeclaration(node)) return node.isTypeOnly;
  if (!ts.isImportDeclaration(node) || !node.importClause) return false;
  const { phaseModifier, name, namedBindings } = node.importClause;
  if (phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  return (
    name === undefined &&
    namedBindings !== undefined &&
    ts.isNamedImports(namedBindings) &&
    namedBindings.elements.every(({ isTypeOnly }) => isTypeOnly)
  );
}

function addImport({ path, imports }: Module, specifier: string, forTypesAlone: boolean): void {
  const target = modulePath(path, specifier);
  if (target !== undefined) {
    imports.path.push(target);
    if (!forTypesAlone) imports.loaded.push(target);
  } else if (!specifier.startsWith('node:')) {
    imports.external.push(packageName(specifier));
  }
}

/** The project's module that a specifier stands for, whether it exists or not. */
function modulePath(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts');
  const [, name, module = name] = /^@convoy\/([a-z]+)(?:\/(?:internal\/)?(.+))?$/.exec(specifier) ?? [];
  return name === undefined ? undefined : `packages/${name}/src/${module ?? name}.ts`;
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** A source with each string that is written as pieces joined by `+` in one piece, so that long titles are found. */
export function withJoinedStrings(source: string): string {
  return source.replace(/(['"`])\s*\+\s*\1/g, '');
}
