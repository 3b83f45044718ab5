// node documented.mjs <file.d.ts>: fails if a public name, or a member of one, lacks a doc comment.
import { dirname, resolve } from 'node:path';
import ts from 'typescript';

const file = resolve(process.argv[2]);
const program = ts.createProgram([file], { module: ts.ModuleKind.NodeNext, types: [], lib: ['lib.es2022.d.ts'] });
const checker = program.getTypeChecker();
const folder = dirname(file);

const isOurs = (node) => node.getSourceFile().fileName.startsWith(folder);
const isPublic = (node) =>
  !ts.isPrivateIdentifier(node.name ?? node) && !(ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Private);
const isDocumented = (node) => ts.getJSDocCommentsAndTags(node).length > 0;
const lineOf = (node) => {
  const { fileName, text } = node.getSourceFile();
  return `${fileName}:${text.slice(0, node.getStart()).split('\n').length}`;
};

/** The members that an interface, a class, or a type with members declares. */
const membersOf = (node) => {
  if (ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node) || ts.isTypeLiteralNode(node)) return node.members;
  if (ts.isTypeAliasDeclaration(node)) return membersOf(node.type);
  return ts.isIntersectionTypeNode(node) ? node.types.flatMap((type) => [...membersOf(type)]) : [];
};

/** The type or class says what its index signature, its constant `name` and its private members are for. */
const needsNone = (node) =>
  ts.isIndexSignatureDeclaration(node) || (node.name?.getText() === 'name' && ts.isClassDeclaration(node.parent));

const symbols = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)));
const nodes = symbols
  .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol))
  .flatMap(({ declarations }) => declarations)
  .map((node) => (ts.isVariableDeclaration(node) ? node.parent.parent : node))
  .flatMap((node) => [node, ...[...membersOf(node)].filter((member) => isPublic(member) && !needsNone(member))])
  .filter(isOurs);
const lacking = nodes.filter((node) => !isDocumented(node));

for (const node of lacking) console.error(`${lineOf(node)}: no doc comment: ${node.getText().split('\n')[0]}`);
if (nodes.length === 0) console.error(`${file} exports nothing`);
process.exitCode = lacking.length > 0 || nodes.length === 0 ? 1 : 0;
