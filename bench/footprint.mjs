// How much code one warm request runs, and how much memory it allocates: counts, which do not depend on the machine's load. Functions
// and files come from V8's precise coverage of the main thread, and only those count that every one of several requests ran, so
// that timers in the background do not. Allocations are sampled over many requests, beside a bare node:http + undici proxy.
//
//   npm run bench -- footprint [--requests 2000] [--warm-up 3000] [--list]
import { parseArgs } from 'node:util'
import { filesOf, measureFootprint } from './lib/footprint.mjs'
import { describeMachine } from './lib/measure.mjs'

const { values: options } = parseArgs({
  options: {
    requests: { type: 'string', default: '2000' },
    'warm-up': { type: 'string', default: '3000' },
    list: { type: 'boolean', default: false },
  },
})
console.log(`# footprint: ${describeMachine()}\n`)
const { streams, json } = await measureFootprint({
  requests: Number(options.requests),
  warmUp: Number(options['warm-up']),
})

console.log('| one warm request | functions | files |')
console.log('|---|---|---|')
for (const { name, functions } of streams) {
  console.log(`| ${name} | ${functions.length} | ${filesOf(functions)} |`)
  if (options.list) list(functions)
}
console.log('\n| one warm request | millrace kB | bare proxy kB | messages to the database thread | rows changed |')
console.log('|---|---|---|---|---|')
const { millrace, bare } = json
const figures = [millrace.kilobytes, bare.kilobytes, millrace.messages, millrace.rows]
console.log(`| ${json.name} | ${figures.map((each) => each.toFixed(1)).join(' | ')} |`)

function list(functions) {
  for (const [url, called] of [...groupByUrl(functions)].sort())
    console.log(
      `  ${url.slice(url.indexOf('/dist/') + 6)}: ${called.map(({ name }) => name || '(anonymous)').join(', ')}`,
    )
}

function groupByUrl(functions) {
  const groups = new Map()
  for (const each of functions) groups.set(each.url, [...(groups.get(each.url) ?? []), each])
  return groups
}
