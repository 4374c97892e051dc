// Writes src/catalog/known-models.json, a dated snapshot of model facts, from a price package and the tables in known-models/.
// Usage: node scripts/make-known-models.mjs [--from FOLDER] [--as-of 2026-11-22]
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import anthropic from './known-models/anthropic.mjs'
import compatible from './known-models/compatible.mjs'
import google from './known-models/google.mjs'
import openai from './known-models/openai.mjs'
import openrouter from './known-models/openrouter.mjs'
import { matches, PRICES_PACKAGE, priceOn, readPrices } from './known-models/read-prices.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PROVIDERS = [anthropic, google, openai, ...compatible, openrouter]

const { values } = parseArgs({ options: { from: { type: 'string' }, 'as-of': { type: 'string' } } })
const asOf = values['as-of'] ?? '2026-11-22'
const prices = readPrices(values.from ?? ROOT)

function factsOf(provider, priced, id, { also, traits, unpriced, ...own }) {
  // The package matches some ids by prefix. Matches of models newer than the package are ignored.
  const found = unpriced ? undefined : priced.find(({ match }) => matches(match, id))
  if (found === undefined && !unpriced) throw new Error(`${PRICES_PACKAGE} does not know ${provider.dialect}/${id}`)
  if (traits !== undefined && provider.traits[traits] === undefined) throw new Error(`${id}: no traits ${traits}`)
  for (const other of also ?? []) {
    const same = priced.find(({ match }) => matches(match, other))
    if (same !== found) throw new Error(`${provider.dialect}/${other} is not another name of ${id}`)
  }
  const { price, price_until } = found === undefined ? {} : priceOn(found.prices, asOf)
  return defined({
    also,
    context_tokens: own.context_tokens ?? found?.context_window,
    max_output_tokens: own.max_output_tokens,
    inputs: own.inputs,
    price,
    price_until: price && price_until,
    traits,
  })
}

const defined = (facts) => Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined))

const json = (value) => JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ')
const lines = (entries, indent) =>
  entries.map(([name, value]) => `${indent}${JSON.stringify(name)}: ${json(value)}`).join(',\n')

/** One line per model and per group of traits, so that a diff shows each change. */
function providerText(provider) {
  const priced = prices.modelsOf(provider.pricesOf)
  const models = Object.entries(provider.models).map(([id, model]) => [id, factsOf(provider, priced, id, model)])
  return `    ${JSON.stringify(provider.dialect)}: {
      "wires": ${json(provider.wires)},
      "traits": {
${lines(Object.entries(provider.traits), '        ')}
      },
      "models": {
${lines(models, '        ')}
      }
    }`
}

const text = `{
  "as_of": ${JSON.stringify(asOf)},
  "prices_from": ${JSON.stringify(`${PRICES_PACKAGE} ${prices.version} (MIT)`)},
  "providers": {
${PROVIDERS.map(providerText).join(',\n')}
  }
}
`
const path = fileURLToPath(new URL('../src/catalog/known-models.json', import.meta.url))
writeFileSync(path, text)
process.stdout.write(`${path}: ${Buffer.byteLength(text)} bytes\n`)
