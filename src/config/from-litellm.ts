import { parse } from 'yaml'
import { type KnownView, knownView, proposalLines, yamlText } from '../admin/compare-catalog.ts'
import { knownModel } from '../catalog/known-models.ts'
import { isObject } from '../lib/types.ts'

/** A configuration in our words, and what could not be carried over. */
export interface Converted {
  readonly yaml: string
  readonly models: number
  /** One line for each setting that was left out or has to be looked at. */
  readonly notes: readonly string[]
}

interface Provider {
  readonly wire: string
  readonly dialect: string
  /** Undefined: the entry has to name its `api_base`. */
  readonly baseUrl?: string
  readonly key?: string
}

/** By the prefix of `litellm_params.model`. */
const PROVIDERS: Readonly<Record<string, Provider>> = {
  openai: { wire: 'responses', dialect: 'openai', baseUrl: 'https://api.openai.com/v1', key: 'OPENAI_API_KEY' },
  anthropic: {
    ...{ wire: 'anthropic', dialect: 'anthropic', baseUrl: 'https://api.anthropic.com/v1', key: 'ANTHROPIC_API_KEY' },
  },
  gemini: {
    ...{ wire: 'gemini', dialect: 'google', baseUrl: 'https://generativelanguage.googleapis.com/v1beta' },
    key: 'GEMINI_API_KEY',
  },
  azure: { wire: 'chat', dialect: 'azure', key: 'AZURE_API_KEY' },
  openrouter: {
    ...{ wire: 'chat', dialect: 'openrouter', baseUrl: 'https://openrouter.ai/api/v1', key: 'OPENROUTER_API_KEY' },
  },
  deepseek: { wire: 'chat', dialect: 'deepseek', baseUrl: 'https://api.deepseek.com/v1', key: 'DEEPSEEK_API_KEY' },
  groq: { wire: 'chat', dialect: 'groq', baseUrl: 'https://api.groq.com/openai/v1', key: 'GROQ_API_KEY' },
  mistral: { wire: 'chat', dialect: 'mistral', baseUrl: 'https://api.mistral.ai/v1', key: 'MISTRAL_API_KEY' },
  xai: { wire: 'chat', dialect: 'xai', baseUrl: 'https://api.x.ai/v1', key: 'XAI_API_KEY' },
  moonshot: { wire: 'chat', dialect: 'moonshot', baseUrl: 'https://api.moonshot.ai/v1', key: 'MOONSHOT_API_KEY' },
  together_ai: { wire: 'chat', dialect: 'together', baseUrl: 'https://api.together.xyz/v1', key: 'TOGETHERAI_API_KEY' },
  fireworks_ai: {
    ...{ wire: 'chat', dialect: 'fireworks', baseUrl: 'https://api.fireworks.ai/inference/v1' },
    key: 'FIREWORKS_API_KEY',
  },
  hosted_vllm: { wire: 'chat', dialect: 'vllm' },
  ollama: { wire: 'chat', dialect: 'ollama', baseUrl: 'http://127.0.0.1:11434/v1' },
  ollama_chat: { wire: 'chat', dialect: 'ollama', baseUrl: 'http://127.0.0.1:11434/v1' },
  lm_studio: { wire: 'chat', dialect: 'lmstudio', baseUrl: 'http://127.0.0.1:1234/v1' },
}

interface Lane {
  readonly upstream: string
  readonly model: string
  readonly priority: number
  readonly weight: number
}

interface ConvertedModel {
  readonly lanes: Lane[]
  view: KnownView | undefined
  priceUntil: string | undefined
}

/** What these mean here is decided elsewhere or by default, so nothing is said about them. */
const UNDERSTOOD = new Set(['model', 'api_key', 'api_base', 'base_url', 'weight', 'order'])
const UNDERSTOOD_INFO = new Set(['id', 'mode', 'max_tokens', 'max_input_tokens', 'max_output_tokens', 'base_model'])
const PRICES = ['input_cost_per_token', 'output_cost_per_token', 'cache_read_input_token_cost'] as const

/** Reads the `config.yaml` of a LiteLLM proxy. Throws an error that says what is wrong with the file. */
export function fromLitellm(text: string): Converted {
  // Prices are read as text: a number such as 2.5e-06 is exact only as it is written.
  const file: unknown = parse(text, { schema: 'failsafe', merge: true })
  if (!isObject(file) || !Array.isArray(file.model_list) || file.model_list.length === 0) {
    throw new Error('this is no LiteLLM configuration: it has no model_list')
  }
  const notes: string[] = []
  const upstreams = createUpstreams()
  const models = new Map<string, ConvertedModel>()
  for (const [at, entry] of file.model_list.entries()) {
    const place = `model_list[${at}]`
    if (!isObject(entry)) notes.push(`${place} is no entry and was left out.`)
    else convertEntry({ entry, place, notes, upstreams, models })
  }
  convertFallbacks(file, models, notes)
  noteOtherSections(file, notes)
  if (models.size === 0) throw new Error(`no model could be converted:\n${notes.join('\n')}`)
  return { yaml: yamlOf(upstreams.lines(), models, notes), models: models.size, notes }
}

interface EntryToConvert {
  readonly entry: Record<string, unknown>
  readonly place: string
  readonly notes: string[]
  readonly upstreams: ReturnType<typeof createUpstreams>
  readonly models: Map<string, ConvertedModel>
}

function convertEntry({ entry, place, notes, upstreams, models }: EntryToConvert): void {
  const params = objectOf(entry.litellm_params)
  const info = objectOf(entry.model_info)
  const full = textOf(params.model)
  const name = textOf(entry.model_name)
  if (full === undefined || name === undefined) {
    notes.push(`${place} has no model_name or no litellm_params.model and was left out.`)
    return
  }
  if (name.includes('*') || full.includes('*')) {
    notes.push(`${place} (${name}) is a wildcard. Write its models one by one: millrace catalog --known`)
    return
  }
  const [prefix, rest] = splitModel(full)
  const provider = Object.hasOwn(PROVIDERS, prefix) ? PROVIDERS[prefix] : undefined
  if (provider === undefined) {
    notes.push(`${place} (${name}): the provider ${prefix} was not converted. Add an upstream for it.`)
    return
  }
  const address = fromEnvironment(textOf(params.api_base) ?? textOf(params.base_url))
  if (address === undefined && provider.baseUrl === undefined) {
    notes.push(`${place} (${name}): the provider ${prefix} needs an api_base.`)
    return
  }
  const upstream = upstreams.find({ prefix, provider, address, key: textOf(params.api_key), place, notes })
  const model = models.get(name) ?? { lanes: [], view: undefined, priceUntil: undefined }
  models.set(name, model)
  const known = knownModel(provider.dialect, rest) ?? knownModel(provider.dialect, textOf(info.base_model) ?? '')
  const stated = { ...params, ...info }
  if ((stated.input_cost_per_token === undefined) !== (stated.output_cost_per_token === undefined)) {
    notes.push(`${place} (${name}) has only one of its two prices, which was left out: set both.`)
  }
  model.view = completed(model.view, withOwnFacts(known === undefined ? undefined : knownView(known), stated))
  model.priceUntil ??= known?.priceUntil
  for (const key of ['order', 'weight']) {
    if (params[key] !== undefined && wholeOf(params[key]) === undefined) {
      notes.push(`${place} (${name}): ${key} ${String(params[key])} was left out: it is a whole number here.`)
    }
  }
  const isTwice = model.lanes.some((lane) => lane.upstream === upstream && lane.model === rest)
  if (isTwice) notes.push(`${place} (${name}) repeats ${full} with the same credential and was left out.`)
  else {
    model.lanes.push({
      ...{ upstream, model: rest },
      priority: wholeOf(params.order) ?? 1,
      weight: wholeOf(params.weight) ?? 1,
    })
  }
  const prices = PRICES as readonly string[]
  const left = [
    ...Object.keys(params).filter((key) => !UNDERSTOOD.has(key) && !prices.includes(key)),
    ...Object.keys(info).filter((key) => !UNDERSTOOD_INFO.has(key) && !prices.includes(key)),
  ]
  if (left.length > 0) notes.push(`${place} (${name}): left out ${left.join(', ')}.`)
}

/** `groq/openai/gpt-oss-120b`: only the first part is LiteLLM's. A name without a provider is OpenAI's. */
function splitModel(full: string): [prefix: string, model: string] {
  const at = full.indexOf('/')
  return at < 0 ? ['openai', full] : [full.slice(0, at), full.slice(at + 1)]
}

interface UpstreamWanted {
  readonly prefix: string
  readonly provider: Provider
  readonly address: string | undefined
  readonly key: string | undefined
  readonly place: string
  readonly notes: string[]
}

/** One upstream for each provider, address and credential. */
function createUpstreams() {
  const found = new Map<string, { readonly id: string; readonly lines: readonly string[] }>()
  const taken = new Set<string>()
  return {
    find({ prefix, provider, address, key, place, notes }: UpstreamWanted): string {
      const signature = JSON.stringify([prefix, address, key])
      const known = found.get(signature)
      if (known !== undefined) return known.id
      let id = prefix.replace(/_/g, '-')
      for (let count = 2; taken.has(id); count++) id = `${prefix.replace(/_/g, '-')}-${count}`
      taken.add(id)
      // Every OpenAI-compatible server of another vendor speaks Chat Completions.
      const isOther = prefix === 'openai' && address !== undefined && !address.startsWith('https://api.openai.com/')
      const wire = isOther ? 'chat' : provider.wire
      const dialect = isOther ? 'generic' : provider.dialect
      const url = withVersion(address ?? provider.baseUrl ?? '', provider)
      const credential = credentialOf(key, provider, { id, place, notes })
      const lines = [
        `  - id: ${id}`,
        `    wire: ${wire}`,
        `    dialect: ${dialect}`,
        `    base_url: ${yamlText(url)}`,
        ...(isPrivate(url) ? ['    allow_private: true'] : []),
        ...(credential === undefined ? [] : [`    api_key: ${JSON.stringify(credential)}`]),
      ]
      found.set(signature, { id, lines })
      return id
    },
    lines: () => [...found.values()].flatMap(({ lines }) => lines),
  }
}

function withVersion(url: string, { dialect }: Provider): string {
  const plain = url.replace(/\/+$/, '')
  if (plain.startsWith('${') || /\/v\d+[a-z]*\d*(?:\/|$)/.test(plain)) return plain
  return dialect === 'azure' ? `${plain.replace(/\/openai$/, '')}/openai/v1` : `${plain}/v1`
}

/** `os.environ/NAME` is written `${NAME}` here. */
const fromEnvironment = (text: string | undefined): string | undefined =>
  text?.replace(/^os\.environ\/(\w+)$/, (_, name: string) => `\${${name}}`)

const isPrivate = (url: string): boolean =>
  url.startsWith('http:') || /\/\/(?:localhost|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)/.test(url)

/** A credential in the file is not copied into another one. */
function credentialOf(
  key: string | undefined,
  provider: Provider,
  { id, place, notes }: { readonly id: string; readonly place: string; readonly notes: string[] },
): string | undefined {
  const named = fromEnvironment(key)
  if (named !== key) return named
  if (key !== undefined) {
    // No provider's usual variable: its key must not go to another server.
    const name = `MILLRACE_${id.toUpperCase().replace(/-/g, '_')}_KEY`
    notes.push(`${place} has its api_key in the file. Put it into the environment variable ${name}.`)
    return `\${${name}}`
  }
  return provider.key === undefined ? undefined : `\${${provider.key}}`
}

/** The first entry that knows a fact of the model states it. */
function completed(view: KnownView | undefined, next: KnownView): KnownView {
  if (view === undefined) return next
  return {
    ...view,
    context_tokens: view.context_tokens ?? next.context_tokens,
    max_output_tokens: view.max_output_tokens ?? next.max_output_tokens,
    price: view.price ?? next.price,
  }
}

/** What the file states about the model wins over the snapshot. */
function withOwnFacts(known: KnownView | undefined, stated: Record<string, unknown>): KnownView {
  const input = perMillion(stated.input_cost_per_token)
  const output = perMillion(stated.output_cost_per_token)
  const cached = perMillion(stated.cache_read_input_token_cost)
  const [longestInput, longestOutput] = [wholeOf(stated.max_input_tokens), wholeOf(stated.max_output_tokens)]
  const facts = known ?? { dialect: '', id: '', also: [], efforts: null, inputs: null }
  return {
    ...facts,
    context_tokens: longestInput ?? known?.context_tokens ?? null,
    max_output_tokens: longestOutput ?? wholeOf(stated.max_tokens) ?? known?.max_output_tokens ?? null,
    price:
      input === undefined || output === undefined
        ? (known?.price ?? null)
        : { input, ...(cached === undefined ? {} : { cached_input: cached }), output, tiers: [] },
  }
}

/** `2.5e-06` USD per token is `2.5` per million, exactly. */
export function perMillion(cost: unknown): string | undefined {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,3}))?$/.exec(textOf(cost) ?? '') ?? []
  if (whole + fraction === '') return undefined
  const places = fraction.length - Number(exponent) - 6
  const digits = `${whole}${fraction}`.padStart(Math.max(places, 0) + 1, '0') + '0'.repeat(Math.max(-places, 0))
  const point = digits.length - Math.max(places, 0)
  const text = `${digits.slice(0, point)}.${digits.slice(point)}`
  return text.replace(/^0+(?=\d)/, '').replace(/\.?0*$/, '')
}

/** Lanes of the models that stand in for another one, behind its own. */
function convertFallbacks(file: Record<string, unknown>, models: Map<string, ConvertedModel>, notes: string[]): void {
  const own = new Map([...models].map(([name, { lanes }]) => [name, [...lanes]]))
  for (const section of ['litellm_settings', 'router_settings']) {
    const fallbacks = objectOf(file[section]).fallbacks
    if (!Array.isArray(fallbacks)) continue
    for (const [name, others] of fallbacks.flatMap((each) => Object.entries(objectOf(each)))) {
      const model = models.get(name)
      for (const other of Array.isArray(others) ? others : []) {
        const lanes = own.get(String(other))
        if (model === undefined || lanes === undefined) {
          notes.push(`${section}.fallbacks: ${name} to ${String(other)} was left out, because one of them was.`)
          continue
        }
        const last = Math.max(...model.lanes.map(({ priority }) => priority))
        model.lanes.push(...lanes.map((lane) => ({ ...lane, priority: last + lane.priority })))
        notes.push(`${name} falls back to ${String(other)} at the price of ${name}.`)
      }
    }
  }
}

const ADVICE: Readonly<Record<string, string>> = {
  'general_settings.master_key': 'operators use the command line or sign in to the console',
  'general_settings.database_url': 'see storage.database; keys and spend are not converted',
  'litellm_settings.cache': 'answers are not cached, only repeated requests with an Idempotency-Key',
  'litellm_settings.num_retries': 'see routing',
  'litellm_settings.request_timeout': 'see timeouts of an upstream',
  'litellm_settings.drop_params': 'fields that a provider does not know are left out and named in a header',
  'router_settings.routing_strategy': 'lanes have priority and weight',
}

function noteOtherSections(file: Record<string, unknown>, notes: string[]): void {
  for (const [section, settings] of Object.entries(file)) {
    if (section === 'model_list') continue
    if (!isObject(settings)) notes.push(`${section} was left out.`)
    for (const name of Object.keys(objectOf(settings))) {
      const path = `${section}.${name}`
      if (name === 'fallbacks' && /^(?:litellm|router)_settings$/.test(section)) continue
      const advice = ADVICE[path]
      notes.push(`${path} was left out${advice === undefined ? '' : `: ${advice}`}.`)
    }
  }
}

function yamlOf(upstreams: readonly string[], models: Map<string, ConvertedModel>, notes: readonly string[]): string {
  const entries = [...models].flatMap(([id, { view, priceUntil, lanes }]) =>
    proposalLines(view!, {
      ...{ id, priceUntil },
      lanes: lanes.map(({ upstream, model, priority, weight }) =>
        [
          `{ upstream: ${upstream}, model: ${yamlText(model)}`,
          ...(priority === 1 ? [] : [`priority: ${priority}`]),
          ...(weight === 1 ? [] : [`weight: ${weight}`]),
        ].join(', '),
      ),
    }),
  )
  const text = [
    '# Converted from the configuration of a LiteLLM proxy. Check prices and sizes, then: millrace check',
    ...(notes.length === 0
      ? []
      : ['#', '# Not converted, or to be looked at:', ...notes.map((note) => `# - ${note.replace(/\s+/g, ' ')}`)]),
    '',
    'upstreams:',
    ...upstreams,
    '',
    'models:',
    ...entries,
  ]
  return `${text.join('\n')}\n`
}

const objectOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {})
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
const wholeOf = (value: unknown): number | undefined =>
  /^[1-9]\d{0,9}$/.test(String(value)) ? Number(value) : undefined
