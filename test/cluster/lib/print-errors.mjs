/** What the nodes had to say, each message once. */
export function printErrors(nodes) {
  const counts = new Map()
  for (const { number, logLines } of nodes) {
    for (const line of logLines.filter((each) => /^(?!\{).*(error|STACK| at )/i.test(each)))
      console.log(`node ${number} said ${line}`)
    for (const line of logLines.filter((each) => each.includes('"level":"error"'))) {
      const { msg, err, endpoint } = JSON.parse(line)
      const text = `${msg ?? endpoint}: ${err?.message}`.replace(/req_\w+/g, 'req')
      const known = counts.get(text) ?? {
        count: 0,
        first: `${number} ${err?.stack?.split('\n').slice(1, 4).join(' ')}`,
      }
      known.count += 1
      counts.set(text, known)
    }
  }
  for (const [text, { count, first }] of counts) console.log(`log ${count} ${text} (${first.slice(0, 300)})`)
}
