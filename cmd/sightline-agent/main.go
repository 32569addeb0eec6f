// Command sightline-agent is the agent without the server.
package main

func main() {}
