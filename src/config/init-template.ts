import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { InitMode, InitOutcome } from '../cli/cli-services.ts'
import { whyNotWritten, writePrivately } from '../lib/files.ts'
import { type Converted, fromLitellm } from './from-litellm.ts'
import { configSchema } from './schema.ts'

/** The file of `millrace init`: it works as it is and shows further keys in comments. */
export const initTemplate = (): string => `# yaml-language-server: $schema=${SCHEMA_PATH}
# Editors complete this file by that schema; a running server has it at /schema/millrace.json.
#
# Configuration of Millrace. Commented keys show their defaults. Check it with: millrace check
# Text may hold \${NAME}, \${NAME:-default} and \${file:/path}. Durations: 100ms, 30s, 5m, 12h, 3d. Sizes: 16KiB, 32MiB.
# Money is always quoted: "3.00". Prices are USD per million tokens.

# server:
#   host: 127.0.0.1              # 0.0.0.0 accepts other machines
#   port: 4600
#   tls: { cert: cert.pem, key: key.pem }   # HTTPS; left out: HTTP, behind a proxy with TLS
#   public_url: null             # https://llm.example.com
#   metrics_host: 127.0.0.1
#   metrics_port: 4601
#   max_connections: 10000
#   trust_proxy: []              # [10.0.0.0/8]: proxies whose X-Forwarded-For is trusted
#   allowed_origins: []          # web pages that may call /v1 from a browser (CORS)

# storage:
#   data: ./data                 # default: $XDG_DATA_HOME/millrace
#   database: sqlite

upstreams:
  # Built in: needs no network and no key, and answers with generated text.
  - id: demo
    wire: demo
  # Providers over the network. Most speak Chat Completions: wire: chat.
  # - id: openai
  #   wire: responses              # the Responses API, where a provider has it; clients of either protocol are served
  #   dialect: openai              # known deviations of the server; generic if left out
  #   base_url: https://api.openai.com/v1
  #   api_key: "\${OPENAI_API_KEY}"
  #   timeouts: { connect: 5s, first_byte: 120s, json_answer: 15m, idle: 90s, no_progress: 300s, total: 30m }
  #   headers: {}                  # extra headers for every call
  # - id: vllm
  #   wire: chat
  #   dialect: vllm
  #   base_url: http://10.0.0.7:8000/v1
  #   allow_private: true          # allows plain http and private addresses, for servers of your own
  # - id: claude
  #   wire: anthropic
  #   base_url: https://api.anthropic.com/v1
  #   api_key: "\${ANTHROPIC_API_KEY}"
  # - id: gemini
  #   wire: gemini
  #   base_url: https://generativelanguage.googleapis.com/v1beta
  #   api_key: "\${GEMINI_API_KEY}"

# To print an entry for a known model: millrace catalog --propose anthropic/claude-sonnet-5
models:
  - id: demo
    description: Streams a generated answer, word by word.
    efforts: [low, medium, high]           # also lists demo-low, demo-medium, demo-high
    context_tokens: 128000
    max_output_tokens: 8192
    kinds: [wallet, builder]
    price: { input: "0.10", cached_input: "0.025", output: "0.40" }   # USD per million tokens; free is "0"
    lanes:
      - { upstream: demo, model: demo }
  # - id: fast-coder
  #   efforts: [low, medium, high]
  #   context_tokens: 200000
  #   max_output_tokens: 64000
  #   choices_max: 1
  #   step_down: { to: fast-coder-low, below_percent: 10 }   # near a cap, instead of a refusal
  #   price:
  #     input: "3.00"
  #     cached_input: "0.30"
  #     cache_write: "3.75"
  #     output: "15.00"
  #     per_request: "0"
  #     tiers:
  #       - { above_input_tokens: 128000, input: "6.00", cached_input: "0.60", cache_write: "7.50", output: "22.50" }
  #   lanes:
  #     - upstream: claude
  #       model: claude-sonnet-5
  #       priority: 1
  #       prompt_cache: conversation   # or system, or off: what Anthropic is asked to cache; cache_write is its price
  #     - { upstream: gemini, model: gemini-3.5-flash, priority: 2 }
  #     - upstream: vllm
  #       model: qwen3-coder
  #       priority: 2
  #       weight: 3
  #       # How a model is called. Known models need none of it: millrace catalog --all shows what applies.
  #       traits: { sampling: true, forced_tool_choice: true, json_schema: native, efforts: { none: disabled, high: high } }

# limits:                        # only address has a default
#   key: { requests_per_minute: 600, tokens_per_minute: 2000000, concurrent: 64 }
#   account: { requests_per_minute: 3000, burst: 60s }
#   account_model: { tokens_per_minute: 500000 }
#   model: { concurrent: 200 }
#   address: { refused_per_minute: 300 }  # without a valid key; off removes the limit

# routing:
#   put_aside: true              # requests skip a failing lane for a while (circuit breaker)
#   aside_first: 10s             # doubles with each consecutive failure …
#   aside_longest: 5m            # … up to this
#   patience: 10s                # how long a request waits for a lane that becomes available
#   retry_percent: 20            # failovers per 100 successful requests; off removes the limit
#   retries_per_second: 3        # always allowed

# overload:                      # beyond this, requests get 503 with Retry-After
#   memory_budget: auto          # for all running requests; auto: half of the available memory
#   queue: 64                    # requests that may wait for capacity
#   queue_wait: 2s
#   loop_delay: 250ms            # 99th percentile of the event loop; off: no limit
#   loop_delay_for: 5s

# console:
#   enabled: true
#   hosts: [millrace.internal]   # additional host names; that of server.public_url is included
#   allow_http: false            # true: allows sign-in over plain HTTP from other machines

# mail:                          # notices and invitations by mail; millrace mail test --to you@example.com
#   host: smtp.example.com
#   port: 587
#   tls: starttls                # or tls, or none
#   user: millrace
#   password: "\${SMTP_PASSWORD}"
#   from: Millrace <millrace@example.com>
#   reply_to: null

# notices:
#   allow_private_webhooks: false

# bounds:
#   body_bytes: 32MiB
#   expansion_ratio: 100
#   json_values: 200000
#   json_depth: 64
#   header_bytes: 16KiB
#   header_timeout: 10s
#   request_timeout: 60s
#   keep_alive_timeout: 75s
#   frame_bytes: 4MiB            # the largest event of a provider's stream

# streams:
#   keep_alive: 15s
#   silence_before_head: 10s

# drain:
#   timeout: 30s
#   linger: 0s                   # 5s behind a load balancer

# telemetry:
#   log: { level: info, format: auto }
#   metrics: true

# Builder keys are paid by a subscription (millrace plans assign) instead of the wallet.
# plans:
#   - id: builder
#     models: ["fast-coder*"]
#     windows:
#       - { every: 5h, allowance: "12.00" }
#       - { every: month, allowance: "60.00" }
`

/** Only its owner may read it, because it may hold provider keys. */
export async function writeTemplate(cwd: string, file: string, mode: InitMode): Promise<InitOutcome> {
  const path = resolve(cwd, file)
  const { yaml, notes } =
    mode.litellm === undefined ? { yaml: initTemplate(), notes: [] } : await convertLitellm(resolve(cwd, mode.litellm))
  try {
    if (mode.overwrite) await writePrivately(path, yaml)
    else await writeFile(path, yaml, { flag: 'wx', mode: 0o600 })
    return { kind: 'written', path, notes }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return { kind: 'exists', path }
    const why = whyNotWritten(error)
    if (why === undefined) throw new Error(`${path} could not be written`, { cause: error })
    throw new Error(`${path} could not be written: ${why}. Name another file: millrace init FILE`)
  }
}

async function convertLitellm(path: string): Promise<Converted> {
  try {
    return fromLitellm(await readFile(path, 'utf8'))
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    const why = isMissing ? 'it does not exist' : (error as Error).message
    throw new Error(`${path} could not be converted: ${why}`, { cause: error })
  }
}

/** The schema that is installed with this program, for editors: the same path from `src` and from `dist`. */
const SCHEMA_PATH = fileURLToPath(new URL('../../schema/millrace.schema.json', import.meta.url))

/** The JSON Schema for editors, generated from the schema that validates the file. */
export function configJsonSchema(): string {
  const { $schema, ...schema } = z.toJSONSchema(configSchema, { io: 'input', target: 'draft-7' })
  return `${JSON.stringify({ $schema, title: 'millrace.yaml', ...schema }, null, 2)}\n`
}
