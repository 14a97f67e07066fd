/** Two agents in TOML, for configurations whose agents do not matter. */
export const agents: string = `
[[agents]]
id = "a"
name = "Agent A"
endpoint = "http://localhost:8081/rpc"
protocol = "a2a"

[[agents]]
id = "b"
name = "Agent B"
endpoint = "./b.js"
protocol = "module"
`
