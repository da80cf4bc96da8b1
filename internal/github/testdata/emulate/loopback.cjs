// Loaded before emulate, which listens on every address and outlives whoever started it: with this it
// listens on loopback only, and ends when its standard input does.
const { Server } = require("node:net");

const listen = Server.prototype.listen;
Server.prototype.listen = function (port) {
  return listen.call(this, { host: "127.0.0.1", port });
};

process.stdin.on("end", () => process.exit(0)).resume();
