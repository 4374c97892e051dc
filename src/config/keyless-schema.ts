import { z } from 'zod'
import { isTagName, TAGS_MAX } from '../model/tags.ts'
import { duration, integer, read, scalar, section, text, usd, wrong } from './scalars.ts'
import { issuer } from './sign-in-schema.ts'

/** Claims that say whose job it is. At an issuer that all its customers share, any job has all others. */
const OWNER_CLAIMS = [
  ...['sub', 'repository', 'repository_id', 'repository_owner', 'repository_owner_id'],
  ...['project_path', 'project_id', 'namespace_path', 'namespace_id', 'organization_slug', 'organization_id'],
]
const VALUE_LENGTH_MAX = 1024
const VALUES_MAX = 100
const COUNT_MAX = 999_999_999_999

const EXPECTED = 'a text, or the beginning of one with * behind it, such as refs/heads/release/*; or a list of them'

const allowed = scalar<readonly string[]>(
  'What the claim has to be: a text, or its beginning with * behind it; or a list of which one has to fit.',
  { type: ['string', 'integer', 'boolean', 'array'], items: { type: ['string', 'integer', 'boolean'] } },
  (value) => {
    const values = (Array.isArray(value) ? (value as readonly unknown[]) : [value]).map((each) =>
      typeof each === 'boolean' || Number.isSafeInteger(each) ? String(each) : each,
    )
    const isList = values.length > 0 && values.length <= VALUES_MAX && values.every(isPattern)
    return isList ? read(values as string[]) : wrong(EXPECTED, 'A * may only be the last character, behind others.')
  },
)

const isPattern = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= VALUE_LENGTH_MAX && /^[^*\p{C}]+\*?$/u.test(value)

/** `acme*` would also fit `acme-evil/x`, and `repo:*` everything. */
const isOwner = (value: string): boolean => !value.endsWith('*') || /\/.*[/:]\*$|[^:]\/\*$/.test(value)

const claim = (description: string) =>
  text(description, { pattern: /^[\w.:/-]+$/, expected: 'the name of a claim', charactersMax: 200 })

const tagRule = section('A tag of every request of the job.', {
  name: text('Its name.', { charactersMax: 32 }).refine(isTagName, {
    message: 'a name from a-z, 0-9, _, . and -, a letter first, and not run',
  }),
  claim: claim('The claim that has its value. Without it there is no such tag.'),
  from: text('What the claim has to look like: the tag is what the * stands for, such as refs/heads/*.', {
    pattern: /^[^*\p{C}]*\*[^*\p{C}]*$/u,
    expected: 'a text with one *',
    charactersMax: 200,
  }).optional(),
})

const run = section('The run of a job and its budget, which all its keys share.', {
  claims: z
    .array(claim('A claim.'))
    .min(1, 'name at least one claim')
    .max(8, 'at most 8 claims')
    .meta({ description: 'Claims that together name the run: [run_id, run_attempt] at GitHub, [job_id] at GitLab.' }),
  max: usd('What it may spend', '1000000')
    .refine((amount) => amount > 0n, { message: 'an amount in USD above zero' })
    .optional(),
  max_requests: integer('How many requests it may send.', [1, COUNT_MAX]).optional(),
  max_tokens: integer('How many tokens it may use.', [1, COUNT_MAX]).optional(),
  ends: duration('How long after its first key it ends.', ['1m', '35d']).prefault('1d'),
}).superRefine((terms, context) => {
  if (terms.max === undefined && terms.max_requests === undefined && terms.max_tokens === undefined) {
    const params = { cure: 'Add max, such as "2.00".', whole: true }
    context.addIssue({ code: 'custom', path: ['max'], message: 'a run needs a budget', params })
  }
})

const NAME = {
  pattern: /^[a-z0-9][a-z0-9-]*$/,
  expected: 'a name of small letters, digits and dashes',
  charactersMax: 24,
}

const rule = section('Jobs that get a key.', {
  name: text('Its name, in the ids of runs and in the audit log. Another name begins other runs.', NAME),
  key: text('The id of the key that the requests of the job count for, with its account, models, limits and caps.', {
    pattern: /^key_[0-9A-Za-z]+$/,
    expected: 'the id of a key, as millrace keys list shows it',
    charactersMax: 64,
  }),
  match: z
    .record(z.string(), allowed)
    .meta({ description: 'Claims of the token and what they have to be. All of them have to fit.' }),
  tags: z
    .array(tagRule)
    .max(40, 'at most 40 rules')
    .meta({
      description:
        'Tags from claims; the first rule of a name that gives a value counts. Left out: repository, branch and pull_request.',
    })
    .optional(),
  lifetime: duration('How long a key works.', ['1m', '1h']).prefault('1h'),
  run,
}).superRefine(({ match, tags = [] }, context) => {
  const hasOwner = Object.entries(match).some(([name, values]) => OWNER_CLAIMS.includes(name) && values.every(isOwner))
  if (!hasOwner) {
    const cure = `Add one of ${OWNER_CLAIMS.join(', ')}; a * in it stands behind a /.`
    const params = { cure, whole: true }
    context.addIssue({ code: 'custom', path: ['match'], message: 'a rule has to say whose jobs it admits', params })
  }
  if (new Set(tags.map(({ name }) => name)).size >= TAGS_MAX) {
    const message = `at most ${TAGS_MAX - 1} tags, so that one is left for the job`
    context.addIssue({ code: 'custom', path: ['tags'], message, params: { cure: 'Remove some.', whole: true } })
  }
})

const jobIssuer = section('An issuer of tokens for jobs.', {
  name: text('Its name in the audit log.', NAME),
  issuer,
  audience: text(
    'The audience that a token has to be for: an address of this server, which the job names when it asks for the token.',
    {
      charactersMax: 512,
    },
  ),
  rules: z
    .array(rule)
    .max(500, 'at most 500 rules')
    .meta({ description: 'The first rule that fits counts.' })
    .prefault([]),
})

export const keylessSchema = section('Short-lived keys for CI jobs, in exchange for the tokens of their issuers.', {
  issuers: z
    .array(jobIssuer)
    .max(20, 'at most 20 issuers')
    .superRefine((issuers, context) => {
      const refuseRepeated = (
        names: readonly { readonly path: readonly (string | number)[]; readonly name: string }[],
      ) => {
        for (const [index, { path, name }] of names.entries()) {
          if (names.findIndex((other) => other.name === name) === index) continue
          const params = { cure: 'Give each one its own.', whole: true }
          context.addIssue({ code: 'custom', path: [...path], message: 'this one is taken', params })
        }
      }
      refuseRepeated(issuers.map(({ name }, index) => ({ name, path: [index, 'name'] })))
      refuseRepeated(issuers.map(({ issuer }, index) => ({ name: issuer, path: [index, 'issuer'] })))
      refuseRepeated(
        issuers.flatMap(({ rules }, index) =>
          rules.map(({ name }, at) => ({ name, path: [index, 'rules', at, 'name'] })),
        ),
      )
    })
    .meta({ description: 'Issuers of tokens, such as GitHub Actions and GitLab. None: no token is taken.' })
    .prefault([]),
})
