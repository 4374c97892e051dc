import { expect, it } from 'vitest'
import { base as germanBase, lazy as germanLazy } from '../../console/messages/de.ts'
import { base, lazy } from '../../console/messages/en.ts'
import { pageMessages } from '../../scripts/bootstrap/page-messages.mjs'
import { consoleFiles, importsOf, isNode, parseSource, resolveImport, textOf, walk } from './source-files.ts'

const ROUTES = 'console/routes.tsx'
const BASE = new Set(Object.keys(base))

const files = new Map(consoleFiles().map((file) => [file.path, file]))

/** Reads `useMessages().keys` and `const { keys } = useMessages()`. Any other use hides the bundles a file needs. */
function messagesOf(file) {
  const bundles = []
  let [calls, seen] = [0, 0]
  walk(file.syntax, (node) => {
    if (isMessagesCall(node)) calls += 1
    if (node.type === 'MemberExpression' && isMessagesCall(node.object) && isNode(node.property)) {
      seen += 1
      bundles.push(String(node.property.name))
    }
    if (node.type !== 'VariableDeclarator' || !isMessagesCall(node.init) || !isNode(node.id)) return
    if (node.id.type !== 'ObjectPattern') return
    seen += 1
    for (const property of node.id.properties) {
      if (isNode(property.key)) bundles.push(String(property.key.name))
    }
  })
  return { bundles, hidden: calls - seen }
}

const isMessagesCall = (node) =>
  isNode(node) && node.type === 'CallExpression' && isNode(node.callee) && node.callee.name === 'useMessages'

/** The lazy bundles used by a file and by everything it imports, statically or dynamically. */
function needsOf(root) {
  const [seen, needs] = [new Set(), new Set()]
  const visit = (path) => {
    const file = files.get(path)
    if (file === undefined || seen.has(path) || path === ROUTES) return
    seen.add(path)
    for (const bundle of messagesOf(file).bundles) if (!BASE.has(bundle)) needs.add(bundle)
    for (const { from } of importsOf(file)) if (from.startsWith('.')) visit(resolveImport(file, from))
  }
  visit(root)
  return [...needs].toSorted()
}

const declared = pageMessages(textOf(ROUTES)).map(({ page, bundles }) => ({ page: `console/${page}`, bundles }))

it('a route loads exactly the message bundles that its page uses', () => {
  expect(declared.length).toBe([...textOf(ROUTES).matchAll(/\bimport\('/g)].length)
  const loaded = declared.map(({ page, bundles }) => `${page}: ${bundles.toSorted().join(', ')}`)
  expect(loaded).toEqual(declared.map(({ page }) => `${page}: ${needsOf(page).join(', ')}`))
})

it('the shell uses only the messages that every page has', () => {
  const around = ['main.tsx', 'shell/Shell.tsx', 'shell/error-pages.tsx']
  expect(around.flatMap((path) => needsOf(`console/${path}`))).toEqual([])
})

it('every component names the message bundles it uses', () => {
  expect([...files.values()].filter((file) => messagesOf(file).hidden > 0).map(({ path }) => path)).toEqual([])
  const hiding = parseSource('console/ui/A.tsx', 'const messages = useMessages(); show(messages.keys)')
  expect(messagesOf(hiding).hidden).toBe(1)
})

it('every language has the same bundles', async () => {
  expect(Object.keys(germanBase)).toEqual(Object.keys(base))
  expect(Object.keys(germanLazy)).toEqual(Object.keys(lazy))
  for (const bundle of Object.keys(lazy)) {
    const [english, german] = await Promise.all([lazy[bundle](), germanLazy[bundle]()])
    expect(Object.keys(german), bundle).toEqual(Object.keys(english))
  }
})
