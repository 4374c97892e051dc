/** Recordings have no times. Where reasoning was hidden they are scripted: a speed for each lane, and a little more or less for each answer. */
const SPEEDS = [40, 60, 90, 150]
const WAIT_SECONDS = 1
const BYTES_PER_TOKEN = 4
const SHARES_OF_SILENCE = [0.25, 0.5, 0.75]
/** Bounds that no recording comes near: an estimate that is cut to its hold is no estimate. */
const NO_BOUND = { inputBound: 1e9, outputBound: 1e9, cachedEstimate: 0, bytesPerToken: BYTES_PER_TOKEN }

/** What is wrong with the estimates, in proportion to what is true: of each recording, wherever it is cut. */
export function errorsOf(recordings, { LaneEstimator, estimateUsage }) {
  const timed = recordings.map((recording, at) => ({ ...recording, ...timesOf(recording, at) }))
  return timed.flatMap((judged) => {
    const others = timed.filter((other) => other.lane === judged.lane && other.id !== judged.id && !other.edited)
    const estimator = new LaneEstimator()
    for (const other of others) learn(estimator, other)
    const errorOf = ({ produced, output }) =>
      estimateUsage({ usage: undefined, ...produced }, { ...NO_BOUND, inputEstimate: 0, estimator }).output / output - 1
    const about = { id: judged.id, others: others.length }
    return [
      ...cutsOf(judged).map((cut) => ({
        ...about,
        kind: `output, ${kindOf(judged)}`,
        output: cut.output,
        error: Math.abs(errorOf(cut)),
      })),
      ...inputsOf(judged, others, LaneEstimator, estimateUsage).map((input) => ({ ...about, ...input })),
    ]
  })
}

/** The frames of the others were made here: they show nothing of how their provider sends. */
const isRecordedStream = ({ kind }) => kind === 'stream'

/** A recording that its authors thinned out is not what a provider sent: it is judged apart, and no lane learns from it. */
const kindOf = ({ wire, hidden, last, edited }) =>
  edited
    ? 'recordings that were thinned out'
    : `${wire}, ${hidden > 0 ? 'hidden reasoning' : last.usage.reasoning > 0 ? 'shown reasoning' : 'no reasoning counted'}`

function timesOf({ lane, hidden }, at) {
  const speed = SPEEDS[[...lane].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % SPEEDS.length]
  const more = 1 + 0.12 * Math.sin(at * 2.4)
  const wait = WAIT_SECONDS * (1 + 0.25 * Math.sin(at * 1.7))
  const msAfter = (tokens) => Math.round(1000 * (wait + tokens / (speed * more)))
  return { msAfter, silentMs: msAfter(hidden) }
}

const hidingOf = ({ lane }) => (/openai-responses (gpt|o\d)|gemini|anthropic/.test(lane) ? 'known' : 'unknown')

const learn = (estimator, one) =>
  estimator.learn(
    {
      outputBytes: one.last.outputBytes,
      contentFrames: isRecordedStream(one) ? one.last.contentFrames : 0,
      calls: one.last.calls,
      silentMs: one.silentMs,
      hiddenReasoning: hidingOf(one),
    },
    one.last.usage,
    { bytesPerToken: BYTES_PER_TOKEN, inputEstimate: 0 },
  )

/** After each chunk that comes before the finish, and in the silence before the first words. */
function cutsOf(one) {
  const hiddenReasoning = hidingOf(one)
  const inSilence = SHARES_OF_SILENCE.filter(() => one.hidden > 0).map((share) => ({
    produced: { outputBytes: 0, calls: 0, silentMs: one.msAfter(one.hidden * share), hiddenReasoning },
    output: one.hidden * share,
  }))
  const inWords = one.states
    .filter(({ outputBytes, finished }, at) => !finished && outputBytes > (one.states[at - 1]?.outputBytes ?? 0))
    .map(({ usage, countedBytes, outputBytes, contentFrames, calls }) => ({
      produced: {
        usageSoFar: usage,
        countedBytes,
        outputBytes,
        contentFrames: isRecordedStream(one) ? contentFrames : 0,
        calls,
        silentMs: one.silentMs,
        hiddenReasoning,
      },
      output: one.hidden + one.outputText * shareOf(one, { outputBytes, contentFrames }),
    }))
  return [...inSilence, ...inWords]
}

/** How much of the words there was: by its tokens where each came in a frame of its own, else by its bytes. */
function shareOf(one, { outputBytes, contentFrames }) {
  const isTokenEach = isRecordedStream(one) && Math.abs(one.last.contentFrames / one.outputText - 1) < 0.1
  return isTokenEach ? contentFrames / one.last.contentFrames : outputBytes / one.last.outputBytes
}

/** An answer in plain words is a prompt whose tokens are known. Who counts the input first is believed. */
function inputsOf(one, others, LaneEstimator, estimateUsage) {
  const isPrompt = ({ plain, edited, hidden, outputText }) => plain && !edited && hidden === 0 && outputText >= 20
  if (!isPrompt(one)) return []
  const estimator = new LaneEstimator()
  const takenFor = ({ last }) => Math.ceil(last.outputBytes / BYTES_PER_TOKEN)
  for (const other of others.filter(isPrompt)) {
    const usage = { uncachedInput: other.outputText, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }
    estimator.learn({ outputBytes: 0 }, usage, { bytesPerToken: BYTES_PER_TOKEN, inputEstimate: takenFor(other) })
  }
  const produced = { usage: undefined, outputBytes: 0 }
  const { uncachedInput } = estimateUsage(produced, { ...NO_BOUND, inputEstimate: takenFor(one), estimator })
  return [{ kind: `input, not told, ${one.wire}`, error: Math.abs(uncachedInput / one.outputText - 1) }]
}
