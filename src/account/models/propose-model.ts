import type { KnownModel } from '../../catalog/known-model.ts'
import { knownModels } from '../../catalog/known-models.ts'
import { type KnownPriceView, type KnownRatesView, knownView } from './known-view.ts'

/**
 * An entry for `models:` of the configuration, to be read, corrected and pasted: from then on it is the operator's. What is
 * not known is a comment, so that `millrace check` asks for it instead of somebody believing a number that was made up.
 */
export function proposeModel(known: KnownModel, providerModel: string): string {
  const view = knownView(known)
  const { asOf } = knownModels()
  const lines = [
    `- id: ${yamlText(idOf(providerModel))}`,
    ...(view.efforts === null ? [] : [`  efforts: [${view.efforts.join(', ')}]`]),
    ...inputsLines(view.inputs),
    sizeLine('context_tokens', view.context_tokens),
    sizeLine('max_output_tokens', view.max_output_tokens),
    ...priceLines(view.price, asOf, known.priceUntil),
    '  lanes:',
    `    - { upstream: ${known.dialect}, model: ${yamlText(providerModel)} }`,
  ]
  return `models:\n${lines.map((line) => `  ${line}\n`).join('')}`
}

/** What clients write: without the vendor in front, which is the affair of the lane. */
const idOf = (providerModel: string): string => providerModel.slice(providerModel.lastIndexOf('/') + 1)

const yamlText = (text: string): string => (/^[A-Za-z][\w./-]*$/.test(text) ? text : JSON.stringify(text))

function inputsLines(inputs: readonly string[] | null): string[] {
  const more = inputs?.filter((input) => input !== 'text') ?? []
  return more.length === 0 ? [] : [`  inputs: [text]   # it also reads ${more.join(' and ')}: see input_tokens_max`]
}

const sizeLine = (name: string, size: number | null): string =>
  size === null ? `  # ${name}: not known, the provider's page of the model says it` : `  ${name}: ${size}`

function priceLines(price: KnownPriceView | null, asOf: string, until: string | undefined): string[] {
  if (price === null) return ['  # price: not known; nobody may call a model without one']
  const { tiers, ...rates } = price
  return [
    `  price:   # what the provider takes on ${asOf}, in USD per million tokens: yours is for you to set`,
    ...(until === undefined ? [] : [`    # it has announced another price from ${until} on`]),
    ...ratesOf(rates).map((line) => `    ${line}`),
    ...(tiers.length === 0 ? [] : ['    tiers:']),
    ...tiers.map(
      ({ above_input_tokens: above, ...tier }) =>
        `      - { above_input_tokens: ${above}, ${ratesOf(tier).join(', ')} }`,
    ),
  ]
}

const ratesOf = (rates: KnownRatesView): string[] => Object.entries(rates).map(([name, rate]) => `${name}: "${rate}"`)
