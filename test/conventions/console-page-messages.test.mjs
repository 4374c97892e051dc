import { expect, it } from 'vitest'
import { base as germanBase, lazy as germanLazy } from '../../console/messages/de.ts'
import { base, lazy } from '../../console/messages/en.ts'
import { pageMessages } from '../../scripts/bootstrap/page-messages.mjs'
import { consoleFiles, importsOf, isNode, parseSource, resolveImport, textOf, walk } from './source-files.ts'

const ROUTES = 'console/routes.tsx'
const BASE = new Set(Object.keys(base))

const files = new Map(consoleFiles().map((file) => [file.path, file]))

/** `useMessages().keys` and `const { keys } = useMessages()`; anything else hides what is needed. */
function messagesOf(file) {
  const areas = []
  let [asked, seen] = [0, 0]
  walk(file.syntax, (node) => {
    if (isMessagesCall(node)) asked += 1
    if (node.type === 'MemberExpression' && isMessagesCall(node.object) && isNode(node.property)) {
      seen += 1
      areas.push(String(node.property.name))
    }
    if (node.type !== 'VariableDeclarator' || !isMessagesCall(node.init) || !isNode(node.id)) return
    if (node.id.type !== 'ObjectPattern') return
    seen += 1
    for (const property of node.id.properties) {
      if (isNode(property.key)) areas.push(String(property.key.name))
    }
  })
  return { areas, hidden: asked - seen }
}

const isMessagesCall = (node) =>
  isNode(node) && node.type === 'CallExpression' && isNode(node.callee) && node.callee.name === 'useWords'

/** The areas that a file, or anything it imports at once or later, speaks of, without those that everybody has. */
function needsOf(root) {
  const [seen, needs] = [new Set(), new Set()]
  const visit = (path) => {
    const file = files.get(path)
    if (file === undefined || seen.has(path) || path === ROUTES) return
    seen.add(path)
    for (const area of messagesOf(file).areas) if (!BASE.has(area)) needs.add(area)
    for (const { from } of importsOf(file)) if (from.startsWith('.')) visit(resolveImport(file, from))
  }
  visit(root)
  return [...needs].toSorted()
}

const declared = pageMessages(textOf(ROUTES)).map(({ page, areas }) => ({ page: `console/${page}`, areas }))

it('a page comes with the words of all the areas that it speaks of, and of no others', () => {
  expect(declared.length).toBe([...textOf(ROUTES).matchAll(/\bimport\('/g)].length)
  const told = declared.map(({ page, areas }) => `${page}: ${areas.toSorted().join(', ')}`)
  expect(told).toEqual(declared.map(({ page }) => `${page}: ${needsOf(page).join(', ')}`))
})

it('what stands around every page does with the words that everybody has', () => {
  const around = ['main.tsx', 'shell/Shell.tsx', 'shell/NotFound.tsx', 'shell/PageFailed.tsx']
  expect(around.flatMap((path) => needsOf(`console/${path}`))).toEqual([])
})

it('which words a component needs can be read off it', () => {
  expect([...files.values()].filter((file) => messagesOf(file).hidden > 0).map(({ path }) => path)).toEqual([])
  const hiding = parseSource('console/ui/A.tsx', 'const words = useWords(); say(words.keys)')
  expect(messagesOf(hiding).hidden).toBe(1)
})

it('every language has the same areas', async () => {
  expect(Object.keys(germanBase)).toEqual(Object.keys(base))
  expect(Object.keys(germanLazy)).toEqual(Object.keys(lazy))
  for (const area of Object.keys(lazy)) {
    const [english, german] = await Promise.all([lazy[area](), germanLazy[area]()])
    expect(Object.keys(german), area).toEqual(Object.keys(english))
  }
})
